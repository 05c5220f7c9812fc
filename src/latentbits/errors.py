"""The exceptions of the library; each message is one sentence that names the place and the way out."""

__all__ = ["DataError", "DataTypeError", "ModelFileError"]


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
