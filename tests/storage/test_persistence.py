"""Model files: the same answers after a round trip, one clear sentence for everything that is no model."""

from __future__ import annotations

import copy
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.exceptions import NotFittedError

from latentbits import AspectBernoulli, BinaryData, simulate
from latentbits.errors import ModelFileError
from latentbits.models.aspect.aspect_model import Components
from latentbits.models.registry import FITTED_TO_FILES, MODELS, model_class, model_name
from latentbits.storage.archives import read_archive, write_archive
from latentbits.storage.persistence import load_model, save_model

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def data() -> BinaryData:
    X = simulate.aspect_bernoulli(60, 12, 3, white_phantom=True, missing=0.05, random_state=1).X
    names = [f"species {j}" for j in range(11)] + ["käfer \U0001f41e"]
    return BinaryData.of(X, column_names=names, row_names=[f"site {i}" for i in range(60)])


@pytest.fixture(scope="module")
def model(data: BinaryData) -> AspectBernoulli:
    return AspectBernoulli(3, n_init=2, random_state=0).fit(data)


@pytest.fixture
def file(model: AspectBernoulli, tmp_path: Path) -> Path:
    path = tmp_path / "model.npz"
    save_model(model, path)
    return path


def tamper(file: Path, change: Callable[[Header, Arrays], None]) -> None:
    """Change header or arrays of a model file, and write it as an attacker would, with the right checksum."""
    arrays = read_archive(file).arrays
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    write_archive(file, {"header": np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays})


# ---- round trip ----


@pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
def test_a_loaded_model_answers_the_same_to_the_last_bit(model: AspectBernoulli, data: BinaryData, file: Path) -> None:
    loaded = load_model(file)
    assert type(loaded) is AspectBernoulli
    assert loaded.get_params() == model.get_params()
    assert_array_equal(loaded.transform(data), model.transform(data))
    assert_array_equal(loaded.denoise(data), model.denoise(data))
    assert_frame_equal(loaded.suspects(data), model.suspects(data))
    assert_frame_equal(loaded.explain(data, row="site 3"), model.explain(data, row="site 3"))
    assert loaded.score(data) == model.score(data)


def test_every_attribute_comes_back_with_its_type(model: AspectBernoulli, file: Path) -> None:
    loaded = load_model(file)
    assert vars(loaded).keys() == vars(model).keys()
    for name, value in vars(model).items():
        assert type(vars(loaded)[name]) is type(value), name
    assert_frame_equal(loaded.restarts_, model.restarts_)
    assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    assert loaded.feature_names_in_.dtype == object
    assert loaded.phantoms_.dtype == model.phantoms_.dtype
    assert [type(part) for part in loaded._restart_components] == [Components, Components]


def test_set_output_is_kept(data: BinaryData, tmp_path: Path) -> None:
    model = AspectBernoulli(2, n_init=1, random_state=0).set_output(transform="pandas").fit(data.to_frame())
    save_model(model, tmp_path / "m")
    assert_frame_equal(load_model(tmp_path / "m").transform(data.to_frame()), model.transform(data.to_frame()))


@pytest.mark.usefixtures("any_extra")
@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        0.1,
        float("inf"),
        -float("inf"),
        "text \udc80",
        [1, [2.5, None]],
        (1, (2,)),
        {"a": (1,), "b": {}},
        np.float64(1 / 3),
        np.int8(3),
        np.bool_(True),
        np.str_("x"),
    ],
    ids=repr,
)
def test_plain_values(model: AspectBernoulli, tmp_path: Path, value: Any) -> None:
    fitted = load_saved_with(model, tmp_path, value)
    assert type(fitted) is type(value)
    assert fitted == value


@pytest.mark.usefixtures("any_extra")
@pytest.mark.parametrize(
    "value",
    [
        np.array([True, False]),
        np.arange(6, dtype=np.uint8).reshape(2, 3),
        np.array([np.nan, np.inf, -0.0, 5e-324]),
        np.zeros((0, 4), np.float32),
        np.array(2.5),
        np.array(["ab", ""]),
        np.array([["a", "b"], ["c", "d\0"]], dtype=object),
        np.asfortranarray(np.random.default_rng(0).random((3, 4))),
    ],
    ids=lambda value: f"{value.dtype}{value.shape}",
)
def test_arrays(model: AspectBernoulli, tmp_path: Path, value: np.ndarray) -> None:
    fitted = load_saved_with(model, tmp_path, value)
    assert fitted.dtype == value.dtype
    assert fitted.flags.f_contiguous == value.flags.f_contiguous
    assert_array_equal(fitted, value)


@pytest.mark.usefixtures("any_extra")
def test_frames(model: AspectBernoulli, tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [1, 2], "x": [0.1, np.inf], "word": ["a", "b"], "ok": [True, False]})
    assert_frame_equal(load_saved_with(model, tmp_path, frame), frame)


class Anything:
    """What an attribute may be if that is no matter."""

    optional = True

    def check(self, name: str, value: Any, sizes: dict[str, int]) -> None:
        pass


@pytest.fixture
def any_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS["aspect-bernoulli"].fitted, "extra_", Anything())


def load_saved_with(model: AspectBernoulli, folder: Path, value: Any) -> Any:
    """The value after a round trip as an attribute of a model."""
    carrier = AspectBernoulli()
    vars(carrier).update(vars(model), extra_=value)
    save_model(carrier, folder / "carrier.npz")
    return load_model(folder / "carrier.npz").extra_


@pytest.mark.parametrize("source", [np.random.default_rng(3), np.random.RandomState(3)])
def test_a_random_generator_is_not_kept(data: BinaryData, tmp_path: Path, source: Any) -> None:
    save_model(AspectBernoulli(1, n_init=1, random_state=source).fit(data), tmp_path / "m.npz")
    assert load_model(tmp_path / "m.npz").random_state is None


def test_an_array_met_twice_is_stored_once(model: AspectBernoulli, file: Path) -> None:
    assert model.components_ is model._components.mean
    loaded = load_model(file)
    assert loaded.components_ is loaded._components.mean


# ---- saving refuses ----


@pytest.mark.usefixtures("any_extra")
@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, 1j, np.array([1j]), np.array([None, "a"], dtype=object), len, pd.DataFrame({1: [2]})],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_data_is_not_saved(model: AspectBernoulli, tmp_path: Path, value: Any) -> None:
    with pytest.raises(ModelFileError, match=r"^extra_ holds an? .* can't be stored"):
        load_saved_with(model, tmp_path, value)
    assert list(tmp_path.iterdir()) == []


def test_foreign_and_unfitted_models_are_not_saved(tmp_path: Path) -> None:
    class Mine(AspectBernoulli):
        pass

    with pytest.raises(ModelFileError, match="Mine is not a model that can be saved"):
        save_model(Mine(), tmp_path / "m.npz")
    with pytest.raises(NotFittedError):
        save_model(AspectBernoulli(), tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_earlier_file(
    model: AspectBernoulli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()

    def fail(stream: Any, **_: Any) -> None:
        stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        save_model(model, file)
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]
    assert file.read_bytes() == before


# ---- loading refuses ----


def test_every_flipped_bit_is_noticed(file: Path) -> None:
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    ends = {*range(200), *range(len(content) - 200, len(content))}
    places = ends | set(rng.integers(len(content), size=300).tolist())
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(flipped)
        with pytest.raises(ModelFileError, match=r"^model\.npz: "):
            load_model(file)


@pytest.mark.parametrize("kept", [0, 1, 2, 100, 0.5, 0.999])
def test_a_truncated_file_is_refused(file: Path, kept: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))])
    with pytest.raises(ModelFileError, match=r"^model\.npz: .*latentbits model"):
        load_model(file)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,0\n", pickle.dumps({"a": 1}), b"PK\x03\x04nonsense"])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"^other: .*no latentbits model"):
        load_model(path)


def test_a_foreign_npz_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=np.eye(3))
    with pytest.raises(ModelFileError, match=r"holds no latentbits model"):
        load_model(tmp_path / "data.npz")


def test_a_folder_stands_for_the_model_in_it(model: AspectBernoulli, file: Path) -> None:
    for path in (file.parent, str(file.parent)):
        assert_array_equal(load_model(path).components_, model.components_)
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r'holds no model\.npz; give a folder made by "latentbits fit"'):
        load_model(file.parent)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.npz: no such file; give"):
        load_model(tmp_path / "absent.npz")


def test_a_packed_file_is_refused(file: Path) -> None:
    with np.load(file) as archive:
        arrays = dict(archive)
    np.savez_compressed(file, **arrays)
    with pytest.raises(ModelFileError, match="packed by another program"):
        load_model(file)


class Mischief:
    """Makes a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["array0", "header", "unused"])
def test_a_pickle_is_refused_and_not_run(file: Path, name: str) -> None:
    trace = file.parent / "trace"
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays[name] = np.array([Mischief(trace)], dtype=object)
    np.savez(file, allow_pickle=True, **arrays)
    with pytest.raises(ModelFileError, match="is no array of numbers or text"):
        load_model(file)
    assert not trace.exists()


def test_a_newer_file_is_refused_with_its_version(file: Path) -> None:
    tamper(file, lambda header, _: header.update(version=3, latentbits="9.9"))
    with pytest.raises(ModelFileError, match=r'latentbits "9\.9" wrote the file, in format version 3, .*; upgrade'):
        load_model(file)


def test_a_file_without_its_checksum_is_refused(file: Path) -> None:
    np.savez(file, **read_archive(file).arrays)
    with pytest.raises(ModelFileError, match="its checksum is missing"):
        load_model(file)


def test_what_loading_would_refuse_is_not_saved(model: AspectBernoulli, tmp_path: Path) -> None:
    changed = copy.copy(model)
    changed.weights_ = model.weights_ * 2
    with pytest.raises(ModelFileError, match="AspectBernoulli can't be saved: weights_ is not between 0 and 1; fit it"):
        save_model(changed, tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []


def with_numbers(place: tuple[str, ...], value: float) -> Callable[[Header, Arrays], None]:
    """All numbers of the array at this place of the header are this one."""

    def change(header: Header, arrays: Arrays) -> None:
        node: Any = header
        for key in place:
            node = node[key]
        arrays[node["key"]] = np.full_like(arrays[node["key"]], value)

    return change


def with_one_array_twice(header: Header, _: Arrays) -> None:
    columns = header["fitted"]["restarts_"]["columns"]
    columns[0] = columns[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_numbers(("fitted", "row_weight_"), 0), "row_weight_ is not above 0 anywhere"),
        (with_numbers(("fitted", "components_"), np.nan), "_components.mean is not between 0 and 1"),
        (with_numbers(("fitted", "weights_"), 0.4), "weights_ is not in sum 1"),
        (lambda header, _: header["fitted"].pop("phantoms_"), "phantoms_ is not there"),
        (lambda header, _: header["params"].update(n_jobs="x"), "n_jobs can't be a str"),
        (lambda header, _: header["params"].update(n_jobs=0), "n_jobs can't be 0"),
        (
            lambda header, _: header["params"].update(binarize={"type": "float", "value": "nan"}),
            "binarize can't be nan",
        ),
        (lambda header, _: header["params"].update(n_init=0), "n_init=0 must be a whole number"),
        (
            lambda header, _: header["fitted"]["feature_names_in_"]["values"].__setitem__(0, "species 1"),
            "all different",
        ),
        (lambda header, _: header["fitted"].update(n_features_in_=13), "has the size 12 where 13 fits"),
        (lambda header, _: header.update(model="logistic-pca"), "damaged|has no parameter"),
        (lambda header, _: header.update(model="a\nb"), r'there is no model "a\\nb"'),
        (lambda header, _: header["fitted"].update(reading_=[[[[[[[[1]]]]]]]]), "reading_ is not plain data"),
        (with_one_array_twice, "two columns of a table are one array"),
        (lambda _, arrays: arrays.update(more=np.ones(3)), "more is no part of the model"),
        (lambda _, arrays: arrays.pop("array1"), "'array1' is missing"),
    ],
)
def test_forged_files_with_the_right_checksum_are_refused(
    file: Path, change: Callable[[Header, Arrays], None], message: str
) -> None:
    tamper(file, change)
    with pytest.raises(ModelFileError, match=f"^model.npz: .*{message}") as caught:
        load_model(file)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_samples_that_would_never_let_a_question_end_are_refused(tmp_path: Path) -> None:
    X = simulate.aspect_bernoulli(20, 5, 2, random_state=0).X
    few = {"n_init": 1, "n_burn": 5, "n_samples": 5, "thin": 1, "random_state": 0}
    save_model(model_class("probit-factors")(1, **few).fit(X), tmp_path / "model.npz")
    tamper(tmp_path / "model.npz", with_numbers(("fitted", "_samples", "items", 0), 1e30))
    with pytest.raises(ModelFileError, match=r"_samples\.theta is not between"):
        load_model(tmp_path / "model.npz")


def with_fitted(name: str, node: Any) -> Callable[[Header, Arrays], None]:
    return lambda header, _: header["fitted"].update({name: node})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, _: header.update(format="pickle"), 'the format is "pickle"'),
        (lambda header, _: header.update(version="1"), 'no format version "1"'),
        (lambda header, _: header.update(version=True), 'no format version "True"'),
        (lambda header, _: header.pop("version"), "damaged"),
        (
            lambda header, _: header.update(model="os:system"),
            'no model "os:system"; the known ones are aspect',
        ),
        (lambda header, _: header.update(model=["os"]), "damaged"),
        (lambda header, _: header["params"].update(shell="rm"), 'has no parameter "shell"'),
        (lambda header, _: header.update(params=[]), "damaged"),
        (lambda header, _: header.update(fitted={}), "never fitted"),
        (with_fitted("__class__", 1), '"__class__" is not the name of a fitted attribute'),
        (with_fitted("__dict__", 1), "not the name of a fitted"),
        (with_fitted("transform", 1), "not the name of a fitted"),
        (with_fitted("_n_features_out", 1), "not the name of a fitted"),
        (with_fitted("_weights_solver", 1), "not the name of a fitted"),
        (with_fitted("n_components", 1), "not the name of a fitted"),
        (with_fitted("plain", 1), "not the name of a fitted"),
        (with_fitted("a b_", 1), "not the name of a fitted"),
        (with_fitted("x__y_", 1), "not the name of a fitted"),
        (with_fitted("x_", {"type": "pickle", "value": ""}), "unknown type 'pickle'"),
        (with_fitted("x_", {"value": 1}), "damaged"),
        (with_fitted("x_", {"type": "named", "name": "Popen", "items": []}), "damaged"),
        (with_fitted("x_", {"type": "named", "name": "Components", "items": [1]}), "damaged"),
        (with_fitted("x_", {"type": "array", "key": "absent"}), "damaged"),
        (with_fitted("x_", {"type": "texts", "shape": [2], "values": ["a"]}), "damaged"),
        (with_fitted("x_", {"type": "texts", "shape": [1], "values": [1]}), "holds something else"),
        (with_fitted("x_", {"type": "float", "value": "many"}), "damaged"),
        (with_fitted("x_", {"type": "frame", "names": ["a"], "columns": []}), "damaged"),
        (lambda _, arrays: arrays.update(array0=np.array([1j])), "no array of numbers or text"),
        (lambda _, arrays: arrays.update(array0=np.array([b"a"])), "no array of numbers or text"),
    ],
)
def test_tampered_headers_are_refused(file: Path, change: Callable[[Header, Arrays], None], message: str) -> None:
    tamper(file, change)
    with pytest.raises(ModelFileError, match=f"^model.npz: .*{message}") as caught:
        load_model(file)
    assert "\n" not in str(caught.value)


def test_a_header_too_deep_to_read_is_refused(file: Path) -> None:
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays["header"] = np.frombuffer(b"[" * 100_000, np.uint8)
    np.savez(file, **arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(file)


def test_a_file_that_claims_a_huge_array_is_refused(file: Path) -> None:
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }"
    npy = b"\x93NUMPY\x01\x00" + (len(head) + 1).to_bytes(2, "little") + head + b"\n"
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("huge.npy", npy)
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(file)


# ---- the registry ----


def test_registry_names_lead_to_classes_and_back() -> None:
    assert model_class("aspect-bernoulli") is AspectBernoulli
    assert model_name(AspectBernoulli()) == "aspect-bernoulli"
    assert model_name(object()) is None
    with pytest.raises(ValueError, match='no model "aspect"; the known ones are aspect-bernoulli'):
        model_class("aspect")


QUICK = {"n_components": 2, "n_clusters": 2, "n_sources": 1, "n_gaussians": 2, "n_segments": 4, "n_init": 2}
"""Parameters of a quick fit, of any model that has them."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITTED_TO_FILES)  # of visits: tests/models/repeated_survey
def test_every_model_comes_back_with_the_same_answers(name: str, tmp_path: Path) -> None:
    X = simulate.aspect_bernoulli(60, 8, 2, sharpness=0.2, random_state=0).X.astype(float)
    kind = model_class(name)
    quick = {**QUICK, "random_state": 0}
    model = kind(**{key: value for key, value in quick.items() if key in kind().get_params()}).fit(X)
    save_model(model, tmp_path / "model.npz")
    same = load_model(tmp_path / "model.npz")
    assert same.get_params() == model.get_params()
    asked = "transform" if hasattr(model, "transform") else "reconstruct"
    assert_array_equal(getattr(same, asked)(X), getattr(model, asked)(X))
    assert_array_equal(same.score_samples(X), model.score_samples(X))
