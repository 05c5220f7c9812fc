"""Ways to damage files: as bytes, as JSON, and as arrays; each returns something else than it was given."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator
Arrays = dict[str, np.ndarray]

JUNK: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 7, 10**6, 2**31, 2**63, 10**30, 0.0, -0.0, -0.5, 0.5, 1e-320, 1e-30, 1e30, 1e99),
    *(1e308, -1e308, "", "x", "1", "nan", "\x00", "\ud800", "é" * 50, "../../x", "__class__", "white", "a\nb"),
    *(
        [],
        [[]],
        {},
        [1, 2],
        ["a"],
        {"type": "model"},
        {"type": "float", "value": "nan"},
        {"type": "float", "value": "inf"},
    ),
    *(
        {"type": "tuple", "items": []},
        {"type": "array", "key": "array0"},
        {"type": "texts", "shape": [1], "values": ["a"]},
    ),
    *(
        {"type": "scalar", "key": "array1"},
        {"type": "dict", "items": {}},
        {"type": "named", "name": "Line", "items": []},
    ),
]
"""Values that don't belong anywhere."""

_DEEP = "nested as deep as "


def of_bytes(rng: Rng, content: bytes) -> bytes:
    """Other bytes: bits flipped, cut off, appended, taken out, zeroed, or moved."""
    changed = bytearray(content)
    n = len(changed)
    first, second = sorted(int(place) for place in rng.integers(n, size=2))
    match int(rng.integers(9)):
        case 0 | 1 | 2 | 3:
            changed[first] ^= 1 << int(rng.integers(8))
        case 4:
            for place in rng.integers(n, size=int(rng.integers(2, 20))):
                changed[place] = int(rng.integers(256))
        case 5:
            del changed[first:]
        case 6:
            changed += rng.bytes(int(rng.integers(1, 200)))
        case 7:
            del changed[first : first + int(rng.integers(1, 100))]
        case _:
            part = int(rng.integers(1, 100))
            changed[first : first + part] = changed[second : second + part]
    return bytes(changed)


def of_json(rng: Rng, document: Any, junk: list[Any] | None = None) -> Any:
    """A copy in which one value, chosen evenly among places at all depths, is another, gone, doubled, or nested."""
    document = json.loads(json.dumps(document))
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            walk(node[key])

    walk(document)
    if not places:
        return _one_of(rng, JUNK)
    depth = int(rng.integers(0, 4))
    shallow = places if depth == 0 else places[: max(len(places) >> depth, 1)]
    node, key = shallow[int(rng.integers(len(shallow)))]
    other, other_key = places[int(rng.integers(len(places)))]
    match int(rng.integers(8)):
        case 0:
            del node[key]
        case 1:
            node[key] = f"{_DEEP}{int(rng.choice([3, 50, 900, 5000, 100_000]))}"
        case 2:
            node[key] = json.loads(json.dumps(other[other_key]))
        case 3 if isinstance(node, dict):
            node[str(_one_of(rng, ["x_", "__dict__", "", "fit", "_x", "é"]))] = node.pop(key)
        case 4 if isinstance(node[key], list):
            node[key] = node[key] * int(rng.integers(0, 3))
        case 5 if isinstance(node[key], int | float):
            node[key] = node[key] + _one_of(rng, [1, -1, 1e-9, 1e9, -1e9, 0.5, 1e200])
        case _:
            node[key] = _one_of(rng, JUNK if junk is None else junk)
    return document


def as_text(document: Any) -> str:
    """The JSON of a damaged document; what `of_json` has nested deeply is too deep for Python's own writer."""

    def nested(found: re.Match[str]) -> str:
        return "[" * int(found[1]) + "]" * int(found[1])

    return re.sub(f'"{_DEEP}([0-9]+)"', nested, json.dumps(document))


def _one_of(rng: Rng, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def of_arrays(rng: Rng, arrays: Arrays, foreign: Arrays) -> Arrays:
    """A copy in which one array has other numbers, another shape or dtype, is another one, or isn't there."""
    arrays = dict(arrays)
    names = sorted(arrays)
    name, other = names[int(rng.integers(len(names)))], names[int(rng.integers(len(names)))]
    array = arrays[name]
    match int(rng.integers(-6, 9)):
        case number if number <= 2 and array.size and array.dtype.kind in "iuf":
            arrays[name] = _with_other_numbers(rng, array)
        case 3:
            arrays[name] = _reshaped(rng, array)
        case 4:
            kinds = ["float64", "float32", "float16", "int64", "int8", "uint64", "bool", "U3", "longdouble"]
            with np.errstate(all="ignore"):
                try:
                    arrays[name] = array.astype(_one_of(rng, kinds))
                except ValueError:
                    arrays[name] = np.zeros(array.shape)
        case 5:
            arrays[name], arrays[other] = arrays[other], arrays[name]
        case 6:
            arrays[name] = foreign[_one_of(rng, sorted(foreign))]
        case 7:
            del arrays[name]
        case _:
            arrays[f"more{int(rng.integers(3))}"] = array
    return arrays


def _with_other_numbers(rng: Rng, array: np.ndarray) -> np.ndarray:
    array = array.copy()
    flat = array.reshape(-1)
    some = rng.integers(array.size, size=int(rng.integers(1, 4)))
    extremes = [
        np.nan,
        np.inf,
        -np.inf,
        1e308,
        -1e308,
        1e200,
        1e99,
        -1e99,
        1e30,
        1e-320,
        0.0,
        1.0,
        -1.0,
        2.0,
        1e6,
        -1e-9,
    ]
    with np.errstate(all="ignore"):
        if rng.random() < 0.3:
            flat[:] = np.asarray(_one_of(rng, extremes)).astype(array.dtype)
        elif rng.random() < 0.3:
            flat *= np.asarray(_one_of(rng, [0, -1, 2, 0.9, 1e3, 1e50, 1e-9, 1e-50, 1e90])).astype(array.dtype)
        elif rng.random() < 0.3:
            flat[:] = rng.permutation(flat)
        else:
            flat[some] = np.asarray(_one_of(rng, extremes)).astype(array.dtype)
    return array


def _reshaped(rng: Rng, array: np.ndarray) -> np.ndarray:
    shapes: list[Callable[[], np.ndarray]] = [
        lambda: array[:0] if array.ndim else array.reshape(1),
        lambda: array[..., :-1] if array.ndim else array.reshape(1, 1),
        lambda: array.T,
        lambda: np.concatenate([array, array]) if array.ndim else np.stack([array, array]),
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: np.zeros((0,) * array.ndim, array.dtype),
        lambda: np.asfortranarray(array),
    ]
    return shapes[int(rng.integers(len(shapes)))]()


def of_archive(rng: Rng, content: bytes) -> bytes:
    """An archive whose members are named, doubled, packed or headed as NumPy never does it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(member.filename, archive.read(member)) for member in archive.infolist()]
    number = int(rng.integers(len(members)))
    name, npy = members[number]
    packing = zipfile.ZIP_STORED
    match int(rng.integers(9)):
        case 0:
            members.append(members[number])
        case 1:
            names = ["../../escape.npy", "/tmp/escape.npy", "a/b.npy", "array0", "", "\x00.npy", "C:\\x.npy", "é.npy"]
            members[number] = str(_one_of(rng, names)), npy
        case 2:
            packing = int(_one_of(rng, [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
        case 3:
            packing = zipfile.ZIP_DEFLATED  # a bomb, as far as this packing goes: some 5 kB that expand to 5 MB
            members.append(("bomb.npy", _npy("<f8", "(655360,)") + bytes(8 * 655360)))
        case 4:
            claims = ["(1000000000000000,)", "(0, 99999999999)", "(-1,)", "(1e3,)", "(3, 4, )", "()", f"({'9' * 400},)"]
            members[number] = name, _npy("<f8", str(_one_of(rng, claims))) + npy[128:]
        case 5:
            kinds = [
                "|O",
                ">f8",
                "<c16",
                "|V8",
                "<M8[s]",
                "|S4",
                "<f16",
                "<f0",
                "f8",
                "<U999999999",
                "<i3",
                "<b1",
                "|b8",
            ]
            members[number] = name, _npy(str(_one_of(rng, kinds)), "(1,)") + npy[128:]
        case 6:
            pickled = io.BytesIO()
            np.save(pickled, np.array([Mischief()], dtype=object), allow_pickle=True)
            members[number] = name, pickled.getvalue()
        case 7:
            members[number] = name, of_bytes(rng, npy)
        case _:
            other = int(rng.integers(len(members)))
            members[number], members[other] = (name, members[other][1]), (members[other][0], npy)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", packing) as archive:
        for name, npy in members:
            archive.writestr(zipfile.ZipInfo(name or "x"), npy, packing)
    return target.getvalue()


def _npy(descr: str, shape: str) -> bytes:
    """The head of an .npy file that says this."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * max(117 - len(text), 0) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


class Mischief:
    """Ends the process when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import os; os._exit(77)",)
