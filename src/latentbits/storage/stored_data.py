"""The data of a fit as a file beside the model, so that a report can be made again without the file they came from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.encoding import PackedCells
from latentbits.data.marks import PlacedMarks
from latentbits.data.numbers import NumberTable
from latentbits.data.row_facts import RowFacts
from latentbits.errors import DataError
from latentbits.storage.archives import DAMAGE, read_archive, reason_of, write_archive

VERSION = 2
CHECKED_SINCE = 2  # the version from which on files have a checksum; those of the first say no version
_NAMES = ("row_names", "column_names")
_FIT_PARAM = "more_"
"""What the names of the fit's further arguments begin with in the file."""


def save_data(data: BinaryData | NumberTable, file: Path, **fit_params: Any) -> None:
    """Write data with their names, and what else went into the fit, as a compressed .npz file.

    Parameters
    ----------
    data : BinaryData or NumberTable
        The data.
    file : pathlib.Path
        The file to write.
    **fit_params : array-like
        Further arguments of the fit by name, one entry for each row, such as segments.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "data.npz"
    ...     save_data(BinaryData.of([[0, 1], [None, 1]], column_names=["Sus", "Bos"]), file, segments=["a", "b"])
    ...     data, fit_params = load_data(file)
    >>> data, data.column_names, fit_params["segments"].tolist()
    (BinaryData(2 rows x 2 columns, 2 ones, 1 missing), ['Sus', 'Bos'], ['a', 'b'])
    """
    arrays: dict[str, np.ndarray] = {_FIT_PARAM + name: np.asarray(values) for name, values in fit_params.items()}
    for name in _NAMES:
        if (names := getattr(data, name)) is not None:
            arrays[name] = _as_text(names)
    if data.row_label is not None:
        arrays["row_label"] = _as_text([data.row_label])
    if isinstance(data, BinaryData):
        arrays |= _beside_the_cells(data)
    if isinstance(data, NumberTable):
        arrays["values"] = data.values
    elif data.sparse is not None:
        parts = {"data": data.sparse.data, "indices": data.sparse.indices, "indptr": data.sparse.indptr}
        arrays |= {f"sparse_{name}": part for name, part in parts.items()}
        arrays["sparse_shape"] = np.array(data.shape)
    elif data.packed is not None:
        arrays |= {"packed_ones": data.packed.ones, "packed_columns": np.array(data.packed.n_columns)}
        if data.packed.missing is not None:
            arrays["packed_missing"] = data.packed.missing
    else:
        arrays["cells"] = data.dense()
    arrays["version"] = np.array(VERSION)
    write_archive(file, arrays, packed=True)


def load_data(file: Path) -> tuple[BinaryData | NumberTable, dict[str, np.ndarray]]:
    """Read what `save_data` wrote, and validate it, as the file may come from anybody.

    Parameters
    ----------
    file : pathlib.Path
        The file.

    Returns
    -------
    data : BinaryData or NumberTable
        The data with their names.
    fit_params : dict of str to array
        The further arguments of the fit by name.

    Raises
    ------
    DataError
        If the file is damaged.
    """
    try:
        arrays, has_checksum = read_archive(file, packed=True)
        version = int(arrays.pop("version", 1))
        if version > VERSION:
            raise ValueError(f"a newer latentbits has written it, in version {version}")
        if version >= CHECKED_SINCE and not has_checksum:
            raise ValueError("its checksum is missing")
        further = [name for name in arrays if name.startswith(_FIT_PARAM)]
        fit_params = {name.removeprefix(_FIT_PARAM): arrays.pop(name) for name in further}
        names: dict[str, Any] = {name: _as_list(arrays[name]) if name in arrays else None for name in _NAMES}
        names["row_label"] = _as_list(arrays["row_label"])[0] if "row_label" in arrays else None
        data = _rebuild(arrays, names)
        if isinstance(data, BinaryData):
            data = _with_what_is_beside(data, arrays)
        _check_lengths(data, fit_params)
        return data, fit_params
    except DAMAGE as error:
        raise DataError(f"{file.name} is damaged ({reason_of(error)}); fit the model again") from None


def _rebuild(arrays: dict[str, np.ndarray], names: dict[str, Any]) -> BinaryData | NumberTable:
    if "values" in arrays:
        values = np.asarray(arrays["values"], dtype=float)
        if values.ndim != 2 or not np.isfinite(values).all():
            raise ValueError("its numbers are no finite table")
        return NumberTable(values, **names)
    if "cells" in arrays:
        cells = arrays["cells"]
        if cells.ndim != 2 or not np.isin(cells, (0, 1, MISSING)).all():
            raise ValueError("its cells are not 0, 1 and missing")
        return BinaryData(np.ascontiguousarray(cells, dtype=np.int8), **names)
    if "packed_ones" in arrays:
        return BinaryData(None, packed=_rebuilt_bits(arrays), **names)
    values, indices, indptr = (arrays[f"sparse_{name}"] for name in ("data", "indices", "indptr"))
    parts = (values.astype(np.int8), indices.astype(np.int32), indptr.astype(np.int64))
    csr = sp.csr_array(parts, shape=tuple(int(side) for side in arrays["sparse_shape"]))
    csr.check_format(full_check=True)  # otherwise SciPy trusts the indices, and reads outside its memory
    if not csr.has_canonical_format or not np.isin(csr.data, (1, MISSING)).all():
        raise ValueError("its sparse cells are inconsistent")
    return BinaryData(None, csr, **names)


def _rebuilt_bits(arrays: dict[str, np.ndarray]) -> PackedCells:
    ones, missing, n_columns = arrays["packed_ones"], arrays.get("packed_missing"), int(arrays["packed_columns"])
    if ones.ndim != 2 or ones.dtype != np.uint8 or ones.shape[1] != -(-n_columns // 8) or 0 in ones.shape:
        raise ValueError("its packed cells are no table")
    if missing is not None and (missing.shape != ones.shape or missing.dtype != np.uint8 or (missing & ones).any()):
        raise ValueError("its missing cells don't match the others")
    return PackedCells(ones, missing, n_columns)


def _beside_the_cells(data: BinaryData) -> dict[str, np.ndarray]:
    """Metadata, notes and marks, as far as there are any."""
    metadata = data.metadata or {}
    arrays = {f"metadata_{number}": _as_text(texts) for number, texts in enumerate(metadata.values())}
    if metadata:
        arrays["metadata"] = _as_text(list(metadata))  # any text may be a name of metadata, but not of an array
    if data.notes:
        arrays["notes"] = _as_text(list(data.notes))
    if data.marks is not None:
        arrays["marks"] = data.marks.as_table()
    return arrays | ({} if data.facts is None else _facts_as_arrays(data.facts))


def _facts_as_arrays(facts: RowFacts) -> dict[str, np.ndarray]:
    arrays = {f"number_{i}": values for i, values in enumerate(facts.numbers.values())}
    arrays |= {f"category_{i}": _as_text(values.tolist()) for i, values in enumerate(facts.categories.values())}
    arrays |= {"facts_numbers": _as_text(list(facts.numbers)), "facts_categories": _as_text(list(facts.categories))}
    if facts.coordinates is not None:
        arrays |= {"coordinates": facts.coordinates, "facts_coordinates": _as_text(list(facts.coordinate_names))}
    if facts.effort is not None:
        arrays |= {"effort": facts.effort, "facts_effort": _as_text([str(facts.effort_name)])}
    return arrays


def _facts_of(arrays: dict[str, np.ndarray], n_rows: int) -> RowFacts | None:
    """What `_facts_as_arrays` wrote, validated as that of a data frame is."""
    if "facts_numbers" not in arrays:
        return None
    kinds = {"number": _as_list(arrays["facts_numbers"]), "category": _as_list(arrays["facts_categories"])}
    stored = {kind: [arrays[f"{kind}_{i}"] for i in range(len(names))] for kind, names in kinds.items()}
    numbers = dict(zip(kinds["number"], stored["number"], strict=True))
    texts = [np.array(_as_list(values), object) for values in stored["category"]]
    places = _as_list(arrays["facts_coordinates"]) if "coordinates" in arrays else []
    effort = _as_list(arrays["facts_effort"])[0] if "effort" in arrays else None
    columns = {**numbers, **dict(zip(kinds["category"], texts, strict=True))}
    if places:
        columns |= zip(places, arrays["coordinates"].T, strict=True)
    if effort is not None:
        columns[effort] = arrays["effort"]
    if any(values.shape != (n_rows,) for values in columns.values()):
        raise ValueError("what it knows of the rows is of other rows")
    covariates = [*kinds["number"], *kinds["category"]]
    return RowFacts.of(columns, covariates=covariates, coordinates=places or None, effort=effort)


def _with_what_is_beside(data: BinaryData, arrays: dict[str, np.ndarray]) -> BinaryData:
    names = _as_list(arrays["metadata"]) if "metadata" in arrays else []
    metadata = {name: _as_list(arrays[f"metadata_{number}"]) for number, name in enumerate(names)}
    if any(len(texts) != data.shape[0] for texts in metadata.values()):
        raise ValueError("its metadata are of other rows")
    notes = tuple(_as_list(arrays["notes"])) if "notes" in arrays else ()
    marks = _checked_marks(arrays["marks"], data) if "marks" in arrays else None
    facts = _facts_of(arrays, data.shape[0])
    return replace(data, metadata=metadata or None, notes=notes, marks=marks, facts=facts)


def _checked_marks(table: np.ndarray, data: BinaryData) -> PlacedMarks:
    n_rows, n_columns = data.shape
    if table.ndim != 2 or table.shape[1] != 3 or table.dtype.kind != "i":
        raise ValueError("its marks are no table")
    marks = PlacedMarks.of(table)
    inside = ((marks.rows >= 0) & (marks.rows < n_rows) & (marks.columns >= 0) & (marks.columns < n_columns)).all()
    if not inside or not np.isin(table[:, 2], (0, 1, MISSING)).all():
        raise ValueError("its marks are of other data")
    return marks


def _check_lengths(data: BinaryData | NumberTable, fit_params: dict[str, np.ndarray]) -> None:
    n_rows, n_columns = data.shape
    if not n_rows or not n_columns:
        raise ValueError("it holds no cell")
    for what, given, needed in (
        ("rows", data.row_names, n_rows),
        ("columns", data.column_names, n_columns),
        *((name, values, n_rows) for name, values in fit_params.items()),
    ):
        if given is not None and len(given) != needed:
            raise ValueError(f"{len(given)} names or values for {needed} {what}")


def _as_text(names: list[str]) -> np.ndarray:
    """The names as UTF-8 bytes and where each ends: NumPy's own text drops trailing NULs and pads to the longest."""
    encoded = [name.encode() for name in names]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    head = np.array([len(names), *ends], dtype="<i8").tobytes()
    return np.frombuffer(head + b"".join(encoded), dtype=np.uint8)


def _as_list(stored: np.ndarray) -> list[str]:
    content = stored.tobytes()
    n = int(np.frombuffer(content[:8], dtype="<i8")[0])
    ends = np.frombuffer(content[8 : 8 * (n + 1)], dtype="<i8")
    text = content[8 * (n + 1) :]
    return [text[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
