"""The exceptions of the library; each message is one sentence that names the place and the way out."""

__all__ = ["DataError", "DataTypeError", "ModelFileError"]


class DataError(ValueError):
    """Input that is not 0-1 data, or a file that can't be read as such."""


class DataTypeError(DataError, TypeError):
    """A cell that is no number at all, such as a dict or a date; scikit-learn expects a TypeError here."""


class ModelFileError(ValueError):
    """A model that can't be saved, or a file that is not a whole, untampered model of this library."""
