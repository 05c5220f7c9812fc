"""What lies beside a model: the data of the fit, the summary and an analyst's ratings, damaged or forged.

Data whose bytes were changed are refused; forged ones are refused, or are 0-1 data. Of a summary, what makes no sense
is as good as absent. Ratings are refused in one sentence, or are numbers and cells of the data. Now and then the
command line makes a report of the folder: it succeeds, or says one sentence.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from click.testing import CliRunner

from latentbits import AspectBernoulli, BinaryData, FalseZeros, apply_marks, simulate
from latentbits.cli.main import program
from latentbits.cli.options.asking import _loaded
from latentbits.data.marks import Marks
from latentbits.errors import DataError
from latentbits.findings.account import components_checksum
from latentbits.findings.analyse import analyse
from latentbits.storage.archives import read_archive, write_archive
from latentbits.storage.run_folder import RunFolder
from latentbits.storage.stored_data import load_data, save_data
from tests.attacks import damage

SMALL = 250
LARGE = 12_000
SECONDS = 30

REPORTED = 0.004
"""Of how many cases a report is made: it takes a hundred times as long as the rest."""


@cache
def originals() -> dict[str, Path]:
    """Run folders, written once in a process."""
    home = Path(tempfile.mkdtemp())
    X = simulate.aspect_bernoulli(25, 7, 2, white_phantom=True, missing=0.05, random_state=0).X
    names = {"column_names": [f"c{j}" for j in range(7)], "row_names": [f"site {i}" for i in range(25)]}
    data = apply_marks(BinaryData.of(np.nan_to_num(X), **names), [{"row": 1, "column": "c2", "mark": "confirm"}])
    models = {
        "aspects": AspectBernoulli(2, n_init=2, max_iter=30, random_state=0),
        "ensemble": FalseZeros(2, members=["aspects_2", "ising"], random_state=0),
    }
    for name, model in models.items():
        results = analyse(model.fit(data), data, verdict=False)
        RunFolder(home / name).save(results, force=False, report=False)
        components = components_checksum(model) if name == "aspects" else ""
        ratings = {
            "format": "latentbits-ratings",
            "version": 1,
            "model": "aspect-bernoulli",
            "components": components,
            "ratings": [1, 0.5],
            "names": ["a", ""],
            "threshold": 0.5,
            "change": "auto",
            "data": data.fingerprint(),
            "marks": [{"row": "site 3", "column": "c1", "mark": "confirm"}, {"row": 4, "column": 5, "mark": "reject"}],
        }
        (home / name / "ratings.json").write_text(json.dumps(ratings))
        shutil.rmtree(home / name / "plots")
    return {name: home / name for name in models}


@cache
def other_data() -> dict[str, bytes]:
    """The data files of both models, and of sparse, packed and plain tables."""
    rng = np.random.default_rng(0)
    tables: dict[str, Any] = {
        "sparse": BinaryData.of(sp.csr_array((rng.random((9, 5)) < 0.3).astype(float))),
        "packed": BinaryData.of(iter([rng.integers(0, 2, (6, 5)), rng.integers(0, 2, (6, 5))])),
        "segments": BinaryData.of(rng.integers(0, 2, (6, 5))),
    }
    found = {name: (folder / "data.npz").read_bytes() for name, folder in originals().items()}
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables.items():
            more = {"segments": np.arange(6)} if name == "segments" else {}
            save_data(table, Path(folder) / "data.npz", **more)
            found[name] = (Path(folder) / "data.npz").read_bytes()
    return found


def case(rng: np.random.Generator) -> None:
    name = ["aspects", "ensemble"][int(rng.integers(2))]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        shutil.copytree(originals()[name], run)
        [damage_data, damage_summary, damage_ratings][int(rng.integers(3))](rng, run)
        if rng.random() < REPORTED:
            more = ["--ratings", str(run / "ratings.json")] if name == "aspects" and rng.random() < 0.5 else []
            report(run, more)


def refused(error: DataError, *names: str) -> None:
    message = str(error)
    assert message.startswith(names), message
    assert "\n" not in message, message
    assert len(message) < 800, message


def damage_data(rng: np.random.Generator, run: Path) -> None:
    kinds = other_data()
    content = kinds[sorted(kinds)[int(rng.integers(len(kinds)))]]
    file = run / "data.npz"
    file.write_bytes(content)
    damaged = rng.random() < 0.4
    if damaged:
        file.write_bytes(damage.of_bytes(rng, content))
    elif rng.random() < 0.3:
        file.write_bytes(damage.of_archive(rng, content))
    else:
        arrays = read_archive(file, packed=True).arrays
        for _ in range(int(rng.integers(1, 3))):
            arrays = damage.of_arrays(rng, arrays, arrays) or arrays
        write_archive(file, arrays, packed=True)
    try:
        data, more = load_data(file)
    except DataError as error:
        refused(error, "data.npz")
        return
    assert not damaged or file.read_bytes() == content, "damaged bytes were taken for data"
    assert isinstance(data, BinaryData)
    assert np.isin(data.dense(), (-1, 0, 1)).all()
    assert data.dense().shape == data.shape
    assert all(len(values) == data.shape[0] for values in more.values())
    assert data.fingerprint()
    if data.row_names is not None:
        assert len(data.row_names) == data.shape[0]


def damage_json(rng: np.random.Generator, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    if rng.random() < 0.2:
        file.write_bytes(damage.of_bytes(rng, text.encode()))
        return
    document = json.loads(text)
    for _ in range(int(rng.integers(1, 4))):
        document = damage.of_json(rng, document)
    file.write_text(damage.as_text(document), encoding="utf-8")


def damage_summary(rng: np.random.Generator, run: Path) -> None:
    damage_json(rng, run / "summary.json")
    opened = RunFolder.open(run)
    assert isinstance(opened.summary, dict)
    assert all(isinstance(name, str) for name in opened.files)
    assert isinstance(opened.fit_record, dict)
    for part in (opened.file_name, opened.marks_file):
        assert part is None or isinstance(part, str)
    for part in (opened.question, opened.reading):
        assert part is None or isinstance(part, dict)
    shape = opened.image_shape
    assert shape is None or len(shape) == 2
    opened.add_file("more.html")


def damage_ratings(rng: np.random.Generator, run: Path) -> None:
    file = run / "ratings.json"
    damage_json(rng, file)
    opened = RunFolder.open(run)
    data, model = opened.load_data()[0], opened.load_model()
    assert isinstance(data, BinaryData)
    try:
        ratings = _loaded(file)
        if hasattr(model, "components_"):
            ratings.check(model)
            assert np.isfinite(model.reconstruct(data, ratings=ratings.values)).all()
    except DataError as error:
        refused(error, "ratings.json")
    try:
        placed = Marks.of(file).placed_in(data)
    except DataError as error:
        refused(error, "ratings.json")
        return
    assert ((placed.rows >= 0) & (placed.rows < data.shape[0])).all()
    assert ((placed.columns >= 0) & (placed.columns < data.shape[1])).all()


def report(run: Path, more: list[str]) -> None:
    result = CliRunner().invoke(program, ["report", str(run), *more], prog_name="latentbits")
    if result.exit_code:
        assert isinstance(result.exception, SystemExit), repr(result.exception)
        lines = [
            line for line in result.stderr.splitlines() if not line.startswith(("note:", "Usage", "Try", "warning"))
        ]
        assert len([line for line in lines if line]) == 1, result.stderr
