"""Model files: one .npz file, which is safe to load from others, because loading it runs no code from it.

A file holds plain arrays and a JSON header, which names the model, its parameters and the structure of its
fitted attributes. Only the types listed in `_Packer` go in and come out; nothing is pickled, and the header
can't name a class outside the registry. A model that is made of others (an ensemble) holds theirs in the same form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from latentbits.data.messages import quoted
from latentbits.errors import ModelFileError
from latentbits.models.base import Model
from latentbits.models.registry import MODELS, model_class, model_name
from latentbits.models.spec import resolve
from latentbits.storage.archives import DAMAGE, Archive, read_archive, reason_of, write_archive
from latentbits.storage.files import MODEL_FILE, atomic_file, parse_json
from latentbits.version import __version__

FORMAT = "latentbits-model"
FORMAT_VERSION = 2
CHECKED_SINCE = 2  # the format version from which on files have a checksum
HEADER = "header"

NAMED_TUPLES = {target.partition(":")[2]: target for spec in MODELS.values() for target in spec.stored_types}
"""The named tuples that may be part of a model, by their name in the file."""

_PLAIN_KINDS = "biufU"
"""Kinds of NumPy dtypes that are stored as they are: bool, integers, floats, text."""

_OF_ONE_MACHINE = ("checkpoint",)
"""Parameters that name a place on the machine of the fit; in a file they are None."""

_RANDOM_SOURCES = (np.random.Generator, np.random.RandomState)


def save_model(model: Any, path: str | Path) -> None:
    """Save a fitted model to one .npz file, which `load_model` opens.

    The file is written under a temporary name and renamed, so an existing one is replaced completely or not at all. A
    `random_state` that is a Generator or RandomState is stored as None: its state has changed since the fit anyway.

    Parameters
    ----------
    model : estimator
        A fitted model of this library.
    path : str or Path
        Used as it is; no ending is added.

    Raises
    ------
    ModelFileError
        If the model is not one of the library's own, or carries something that can't be stored as plain data.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbits import AspectBernoulli, load_model, save_model
    >>> model = AspectBernoulli(1, n_init=1).fit([[0, 1], [1, 0], [1, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model.npz")
    ...     same = load_model(Path(folder) / "model.npz")
    >>> bool((same.components_ == model.components_).all())
    True
    """
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"{Path(path).parent}: no such folder to write into; make it first")
    if model_name(model) is None:
        raise ModelFileError(f"{type(model).__name__} is not a model that can be saved; save one of the library's own")
    check_is_fitted(model)
    packer = _Packer()
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "latentbits": __version__,
        **packer.pack_model(model),
    }
    # NaN and infinity are not JSON; the packer writes them as nodes of type "float".
    text = np.frombuffer(json.dumps(header, allow_nan=False).encode("ascii"), dtype=np.uint8)
    with atomic_file(Path(path)) as draft:
        write_archive(draft, {HEADER: text, **packer.arrays})


def load_model(path: str | Path) -> Model:
    """Load a model saved by `save_model`, or that of a run folder; its results are the same to the last bit.

    Parameters
    ----------
    path : str or Path
        The file, or a folder made by "latentbits fit", which holds it as model.npz.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is damaged or truncated, is not a model of this library, was written by a newer version of it, or
        holds anything but plain data.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbits import BernoulliMixture, load_model, save_model
    >>> model = BernoulliMixture(1, n_init=1).fit([[0, 1], [1, 0], [1, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model.npz")
    ...     load_model(Path(folder) / "model.npz").predict([[1, 1]])
    array([0])
    """
    file = Path(path)
    if file.is_dir():
        file /= MODEL_FILE
        if not file.is_file():
            raise FileNotFoundError(
                f'{file.parent} holds no {MODEL_FILE}; give a folder made by "latentbits fit", or a model file'
            )
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; give a model file that latentbits has written")
    try:
        with file.open("rb") as stream:
            if stream.read(2) != b"PK":
                raise ModelFileError(
                    f"{file.name}: this is no latentbits model; give a model.npz that latentbits has written"
                )
        archive = read_archive(file)
        header = _read_header(archive, file.name)
        return _Unpacker(archive.arrays, file.name).whole(header)
    except ModelFileError:
        raise
    except DAMAGE as error:
        raise ModelFileError(
            f"{file.name}: the file is damaged or no latentbits model ({reason_of(error)}); save the model again"
        ) from None


# ---- the file ----------------------------------------------------------------------------------------------


def _read_header(archive: Archive, file: str) -> dict[str, Any]:
    """The header, after its format and version have been checked."""
    if HEADER not in archive.arrays:
        raise ModelFileError(f"{file}: this .npz file holds no latentbits model; it may be data, or another program's")
    header = parse_json(archive.arrays[HEADER].tobytes())
    if header["format"] != FORMAT:
        raise ModelFileError(
            f'{file}: the format is {quoted(str(header["format"]))}, not "{FORMAT}"; give a latentbits model'
        )
    version = header["version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"there is no format version {quoted(str(version))}")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{file}: latentbits {quoted(str(header['latentbits']))} wrote the file, in format version {version}, and "
            f"latentbits {__version__} reads up to {FORMAT_VERSION}; upgrade latentbits to open it"
        )
    if version >= CHECKED_SINCE and not archive.has_checksum:
        raise ValueError("its checksum is missing")
    return dict(header)


# ---- values to plain data, and back ------------------------------------------------------------------------


class _Packer:
    """Turns models and values into JSON nodes, and collects their arrays. An array that occurs twice is stored once.

    None, bool, int, str, finite floats and lists of nodes are their own nodes; every other node is an object
    with a "type".
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._keys: dict[int, str] = {}

    def pack_model(self, model: Any) -> dict[str, Any]:
        """The name, the parameters and the fitted attributes of a model."""
        params = model.get_params(deep=False)
        fitted = {key: value for key, value in vars(model).items() if key not in params}
        name = model_name(model)
        assert name is not None
        kept = _kept(params)
        try:
            MODELS[name].check_fitted(kept, fitted)
        except ValueError as error:
            raise ModelFileError(
                f"{type(model).__name__} can't be saved: {error}; fit it again, and change nothing"
            ) from None
        return {
            "model": name,
            "params": self._pack_parameters(kept),
            "fitted": {key: self.pack(value, key) for key, value in fitted.items()},
        }

    def _pack_parameters(self, values: dict[str, Any]) -> dict[str, Any]:
        """Parameters; a model among them needn't be fitted."""
        return {
            key: self.pack(value, key)
            if model_name(value) is None
            else {
                "type": "unfitted",
                "model": model_name(value),
                "params": self._pack_parameters(_kept(value.get_params(deep=False))),
            }
            for key, value in values.items()
        }

    def pack(self, value: Any, place: str) -> Any:
        """The node for a value; `place` names it in errors."""
        kind = type(value)  # exact types: an instance of a subclass would come back as its base
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is float:
            return {"type": "float", "value": repr(value)}
        if kind in (list, tuple, dict) or hasattr(kind, "_fields"):
            return self._pack_container(value, place)
        if isinstance(value, np.generic) and value.dtype.kind in _PLAIN_KINDS:
            return {"type": "scalar", "key": self._store(np.asarray(value))}
        if kind is np.ndarray:
            return self._pack_array(value, place)
        if kind is pd.DataFrame:
            return self._pack_frame(value, place)
        if model_name(value) is not None:
            return {"type": "model", **self.pack_model(value)}
        return _refuse(value, place)

    def _pack_container(self, value: Any, place: str) -> Any:
        kind = type(value)
        if kind is list:
            return [self.pack(item, place) for item in value]
        if kind is tuple:
            return {"type": "tuple", "items": [self.pack(item, place) for item in value]}
        if kind is dict:
            if not all(type(key) is str for key in value):
                _refuse(value, place)
            return {"type": "dict", "items": {key: self.pack(item, place) for key, item in value.items()}}
        if NAMED_TUPLES.get(kind.__name__) != f"{kind.__module__}:{kind.__qualname__}":
            _refuse(value, place)
        return {"type": "named", "name": kind.__name__, "items": [self.pack(item, place) for item in value]}

    def _pack_array(self, value: np.ndarray, place: str) -> dict[str, Any]:
        if value.dtype.kind in _PLAIN_KINDS:
            return {"type": "array", "key": self._store(value)}
        texts = value.ravel().tolist()
        if value.dtype != object or not all(type(text) is str for text in texts):
            _refuse(value, place)
        return {"type": "texts", "shape": list(value.shape), "values": texts}

    def _pack_frame(self, value: pd.DataFrame, place: str) -> dict[str, Any]:
        plain_index = value.index.equals(pd.RangeIndex(len(value)))
        if not plain_index or not all(type(name) is str for name in value.columns):
            _refuse(value, place)
        columns = [self.pack(value[name].to_numpy(), f"{place}.{name}") for name in value.columns]
        return {"type": "frame", "names": list(value.columns), "columns": columns}

    def _store(self, array: np.ndarray) -> str:
        key = self._keys.setdefault(id(array), f"array{len(self.arrays)}")
        self.arrays[key] = array  # the reference keeps the array alive, so that its id isn't reused
        return key


def _kept(params: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if key in _OF_ONE_MACHINE or isinstance(value, _RANDOM_SOURCES) else value
        for key, value in params.items()
    }


def _refuse(value: Any, place: str) -> NoReturn:
    kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
    raise ModelFileError(f"{place} holds {kind} that can't be stored as plain data; set it to something simpler")


class _Unpacker:
    """Turns nodes back into values; a node of any type that isn't listed here is an error."""

    def __init__(self, arrays: dict[str, np.ndarray], file: str) -> None:
        self._arrays = arrays
        self._used: set[str] = set()
        self._file = file
        self._makers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "float": lambda node: float(node["value"]),
            "tuple": lambda node: tuple(map(self.unpack, node["items"])),
            "dict": lambda node: {key: self.unpack(item) for key, item in node["items"].items()},
            "named": self._named,
            "scalar": self._scalar,
            "array": self._array,
            "texts": self._texts,
            "frame": self._frame,
            "model": self.rebuild,
            "unfitted": self._unfitted,
        }

    def unpack(self, node: Any) -> Any:
        """The value that a node stands for."""
        if isinstance(node, list):
            return [self.unpack(item) for item in node]
        if not isinstance(node, dict):
            return node
        if node["type"] not in self._makers:
            raise ValueError(f"it contains a value of the unknown type {node['type']!r}")
        return self._makers[node["type"]](node)

    def whole(self, header: dict[str, Any]) -> Any:
        """The model of a file, every array of which must be part of it."""
        model = self.rebuild(header)
        unused = sorted(self._arrays.keys() - self._used - {HEADER})
        if unused:
            raise ValueError(f"{unused[0]} is no part of the model")
        return model

    def rebuild(self, node: dict[str, Any]) -> Any:
        """The model that a node describes; its attributes are set directly, so no method of it runs."""
        model = self._unfitted(node)
        fitted = {
            MODELS[node["model"]].renamed.get(key, key): self.unpack(value) for key, value in node["fitted"].items()
        }
        if not fitted:
            raise ModelFileError(f"{self._file}: the model in it was never fitted; fit it and save it again")
        MODELS[node["model"]].check_fitted(model.get_params(deep=False), fitted)
        vars(model).update(fitted)
        return model

    def _unfitted(self, node: dict[str, Any]) -> Any:
        """A model with its parameters alone."""
        if node["model"] not in MODELS:
            raise ModelFileError(
                f"{self._file}: there is no model {quoted(str(node['model']))}; the known ones are "
                f"{', '.join(sorted(MODELS))}; upgrade latentbits if the file is newer"
            )
        kind, spec = model_class(node["model"]), MODELS[node["model"]]
        params = {**spec.formerly} | {key: self.unpack(value) for key, value in node["params"].items()}
        unknown = sorted(set(params) - set(kind._get_param_names()))
        if unknown:
            raise ModelFileError(
                f"{self._file}: {kind.__name__} has no parameter {quoted(unknown[0])}; upgrade latentbits if it is "
                "newer"
            )
        spec.check(params)
        return kind(**params)  # by scikit-learn's convention constructors only assign

    def _array(self, node: dict[str, Any]) -> np.ndarray:
        key = node["key"]
        self._used.add(key)
        return self._arrays[key]

    def _scalar(self, node: dict[str, Any]) -> np.generic:
        value = self._array(node)[()]
        if not isinstance(value, np.generic):
            raise ValueError("a single number is an array")
        return value

    def _named(self, node: dict[str, Any]) -> Any:
        return resolve(NAMED_TUPLES[node["name"]])(*map(self.unpack, node["items"]))

    @staticmethod
    def _texts(node: dict[str, Any]) -> np.ndarray:
        if not all(type(text) is str for text in node["values"]):
            raise ValueError("an array of texts holds something else")
        flat = np.empty(len(node["values"]), dtype=object)
        flat[:] = node["values"]
        return flat.reshape(node["shape"])

    def _frame(self, node: dict[str, Any]) -> pd.DataFrame:
        keys = [column["key"] for column in node["columns"] if column["type"] == "array"]
        if len(set(keys)) < len(keys):  # frames copy their columns, so one array could fill the memory
            raise ValueError("two columns of a table are one array")
        columns = map(self.unpack, node["columns"])
        return pd.DataFrame(dict(zip(node["names"], columns, strict=True)), columns=node["names"])
