"""Model files of earlier versions (tests/stored_models) open, and give the numbers that they gave then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from latentbits import load_model, methods_text
from latentbits.models.registry import MODELS, model_name
from tests.stored_models.make import FOLDER, NEWEST, VARIANTS, question

FILES = sorted(FOLDER.rglob("*.npz"))
IDS = [str(file.relative_to(FOLDER).with_suffix("")) for file in FILES]


def recorded(file: Path) -> tuple[Any, dict[str, Any]]:
    """The rows that were asked about, and the answers."""
    content = json.loads(file.with_suffix(".json").read_text())
    if "columns" not in content:
        return np.array(content["rows"], dtype=float), content
    return pd.DataFrame(content["rows"], columns=content["columns"], dtype=float), content


def test_every_model_has_a_stored_file() -> None:
    names = {file.stem for file in NEWEST.glob("*.npz")}
    assert set(MODELS) <= names
    assert names == set(VARIANTS)


STANDARD_ERRORS = 5.0
"""By so many the mean of a sampled model's draws of rows may differ from that of other draws: the random stream has
changed since, and is no part of a file."""

OF_PROBIT_FACTORS = 0.03
"""By so much the probabilities of an ensemble may differ for the same reason: their standard deviation over seeds of
the rows' streams is .003 on average over the cells, and .008 in the cell where it is largest."""


def monte_carlo_error(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """Standard error of the difference of two means of independent draws of the rows' coordinates."""
    draws = model._solved(rows).coordinates[:, :, : model.n_components]
    return np.asarray(np.sqrt(2 / draws.shape[1]) * draws.std(axis=1))


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_a_stored_model_gives_the_numbers_of_then(file: Path) -> None:
    model, (rows, then) = load_model(file), recorded(file)
    assert model_name(model) == VARIANTS[file.stem][0]
    asked = question(model)
    now, before = getattr(model, asked)(rows), np.array(then[asked])
    if file.stem in ("probit-factors", "beta-ica-gibbs"):
        assert (np.abs(now - before) < STANDARD_ERRORS * monte_carlo_error(model, rows)).all()
    else:
        assert_allclose(now, before, rtol=1e-6, atol=OF_PROBIT_FACTORS if file.stem == "false-zeros" else 1e-6)
    if "score" not in then:
        return
    # An ensemble is scored with columns hidden, where weights of short rows have several best values, and rows of its
    # probit factors are drawn anew: a mean of six rows then moves by some thousandths.
    assert_allclose(model.score(rows), then["score"], rtol=1e-2 if file.stem == "false-zeros" else 1e-9)


def test_what_icamixture_called_weights_are_its_proportions() -> None:
    model = load_model(FOLDER / "ica-mixture.npz")
    assert not hasattr(model, "weights_")
    assert model.proportions_.sum() == pytest.approx(1)
    assert_allclose(model.proportions_, np.bincount(model.labels_) / len(model.labels_), atol=0.02)


@pytest.mark.parametrize("folder", [FOLDER, NEWEST], ids=lambda folder: folder.name)
@pytest.mark.parametrize("name", ["aspect-bernoulli", "bernoulli-nmf", "plsa"])
def test_fits_from_before_there_was_smoothing_are_by_maximum_likelihood(folder: Path, name: str) -> None:
    model = load_model(folder / f"{name}.npz")
    assert clone(model).get_params()["smoothing"] == 0
    assert "by maximum likelihood." in methods_text(model)


def test_fits_from_before_ridges_were_learned_tell_theirs() -> None:
    model = load_model(NEWEST / "logistic-pca.npz")
    assert model.ridge == 0.1
    assert "a ridge of 0.1" in methods_text(model)
