"""The exceptions and warnings of the library; each message is one sentence that names the place and the way out."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from latentbits.notes import Code


class DataError(ValueError):
    """Invalid input: values that are not 0-1 data, a file that can't be read as such, or arguments that don't fit them.

    Examples
    --------
    >>> from latentbits import BinaryData, DataError
    >>> try:
    ...     BinaryData.of([[0, 2]])
    ... except DataError:
    ...     print("refused")
    refused
    """


class DataTypeError(DataError, TypeError):
    """A cell that is no number at all, such as a dict or a date; scikit-learn expects a TypeError here."""


class UnknownColumnError(DataError):
    """A column that was asked for and that the table doesn't have; `column` is its name."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


class UselessOptionError(DataError):
    """An option of reading that has no meaning for this kind of file; `option` is its name."""

    def __init__(self, message: str, option: str) -> None:
        super().__init__(message)
        self.option = option


class DegenerateDataWarning(UserWarning):
    """A table from which nothing can be learned, or fewer components than were asked for.

    Examples
    --------
    >>> import warnings
    >>> from latentbits import DegenerateDataWarning, IndependentBernoulli
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DegenerateDataWarning)
    ...     try:
    ...         IndependentBernoulli().fit([[0, 0], [0, 0]])
    ...     except DegenerateDataWarning as reason:
    ...         print(reason)
    all 4 observed cells are 0, so there is nothing to learn; check how the data were read, or give a table with 0 and 1
    """


class InterruptedWarning(UserWarning):
    """A fit or a question that was interrupted, and what is left of it."""

    code = Code.INTERRUPTED


class NoNoiseComponentWarning(UserWarning):
    """No component only switches cells off or on, so no observed cell is changed."""

    code = Code.NO_NOISE_COMPONENT


class ModelFileError(ValueError):
    """A model that can't be saved, or a file that is not a complete, unaltered model of this library.

    Examples
    --------
    >>> from latentbits import ModelFileError, save_model
    >>> try:
    ...     save_model(object(), "model.npz")
    ... except ModelFileError:
    ...     print("refused")
    refused
    """


# scikit-learn stands between: it wraps `transform`, to give data frames.
_PASSED_OVER = (str(Path(__file__).parent), f"{os.sep}sklearn{os.sep}")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the caller's line: the first one that isn't the library's, however deep the question was asked.

    (Python 3.12 can do that by itself, with `skip_file_prefixes`.)
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and any(part in frame.f_code.co_filename for part in _PASSED_OVER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def kept_warnings() -> Iterator[list[Warning]]:
    """Keep the warnings that are shown inside, each text once; they are shown all the same."""
    kept: list[Warning] = []

    with warnings.catch_warnings():
        shown = warnings.showwarning

        def keep(message: Warning | str, *place: Any, **details: Any) -> None:
            warning = message if isinstance(message, Warning) else UserWarning(message)
            if str(warning) not in map(str, kept):
                kept.append(warning)
            shown(message, *place, **details)

        warnings.showwarning = keep
        yield kept
