"""Model files: damaged ones are refused in one sentence; forged ones are refused, or hold a model that answers.

Bytes are changed, and nothing but a refusal will do. Or header, arrays and archive are changed as by somebody who can
write a checksum as well: then the file is refused, or the model gives finite answers. Nothing in a file is ever run.
"""

from __future__ import annotations

import json
import resource
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from latentbits import AspectBernoulli, BetaICA, load_model, save_model
from latentbits.errors import ModelFileError
from latentbits.storage.archives import read_archive, write_archive
from tests.attacks import damage
from tests.stored_models.make import FOLDER, NEWEST, VARIANTS, data_for

SMALL = 500
LARGE = 30_000
SECONDS = 20
MOST_MEMORY = 4e9

MORE: dict[str, Any] = {
    "noise": lambda X: BetaICA(2, inference="em", noise="both", n_init=2, max_iter=20, random_state=0).fit(X),
    "batches": lambda X: AspectBernoulli(2, noise="white", random_state=0).partial_fit(X).partial_fit(X),
}
"""Models that hold what the stored ones don't."""


@cache
def original(name: str) -> tuple[bytes, bytes, pd.DataFrame | np.ndarray]:
    """A model file as it is written today, as an earlier version wrote it, and rows to be asked about."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.npz"
        if name in MORE:
            rows = data_for("aspect-bernoulli")[0]
            save_model(MORE[name](rows), file)
            old = file.read_bytes()
        else:
            folder = FOLDER if (FOLDER / f"{name}.npz").exists() else NEWEST
            content = json.loads((folder / f"{name}.json").read_text())
            rows = np.array(content["rows"], dtype=float)
            if "columns" in content:
                rows = pd.DataFrame(rows, columns=content["columns"])
            old = (folder / f"{name}.npz").read_bytes()
            save_model(load_model(folder / f"{name}.npz"), file)
        return file.read_bytes(), old, rows[:3]


def case(rng: np.random.Generator) -> None:
    names = [*VARIANTS, *MORE]
    name, other = names[int(rng.integers(len(names)))], names[int(rng.integers(len(names)))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.npz"
        content, old, rows = original(name)
        if rng.random() < 0.3:
            file.write_bytes(changed := damage.of_bytes(rng, content))
            assert changed == content or not opens(file), f"{name}: damaged bytes were taken for a model"
            return
        if rng.random() < 0.2:
            file.write_bytes(damage.of_bytes(rng, old))
        elif rng.random() < 0.2:
            file.write_bytes(damage.of_archive(rng, old))  # of a file without a checksum, so that more is looked at
        else:
            forge(rng, file, content, original(other)[0])
        if opens(file):
            answers(load_model(file), rows, name)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < MOST_MEMORY


def opens(file: Path) -> bool:
    """Whether there is a model; otherwise the reason is one sentence that names the file and says what to do."""
    try:
        load_model(file)
    except ModelFileError as error:
        message = str(error)
        assert message.startswith("model.npz: "), message
        assert "\n" not in message, message
        assert ";" in message, message
        assert len(message) < 800, message
        return False
    return True


def forge(rng: np.random.Generator, file: Path, content: bytes, foreign: bytes) -> None:
    """Write the file with another header or other arrays, and the checksum that belongs to them."""
    file.write_bytes(foreign)
    others = read_archive(file).arrays
    file.write_bytes(content)
    arrays = read_archive(file).arrays
    header = json.loads(arrays.pop("header").tobytes())
    others.pop("header")
    changes = int(rng.integers(1, 3))
    for _ in range(changes):
        if rng.random() < 0.65 and arrays:
            arrays = damage.of_arrays(rng, arrays, others or arrays)
        else:
            header = damage.of_json(rng, header)
    text = damage.as_text(header).encode()
    if rng.random() < 0.1:
        text = damage.of_bytes(rng, text)
    write_archive(file, {"header": np.frombuffer(text, np.uint8), **arrays})


def answers(model: Any, rows: pd.DataFrame | np.ndarray, name: str) -> None:
    """All that can be asked of any model is finite."""
    asked = rows
    if isinstance(rows, pd.DataFrame):
        names = getattr(model, "feature_names_in_", None)
        columns = list(rows.columns) if names is None else [str(name) for name in names]
        asked = rows.set_axis(columns, axis=1) if len(columns) == rows.shape[1] else rows.to_numpy()
    method = "transform" if hasattr(model, "transform") else "reconstruct"
    if model.n_features_in_ != rows.shape[-1]:
        asked = np.zeros((2, *rows.shape[1:-1], model.n_features_in_))
    for question in (method, "score_samples"):
        answer = np.asarray(getattr(model, question)(asked))
        assert np.isfinite(answer).all(), f"{name}: {question} is not finite"
