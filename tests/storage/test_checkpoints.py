"""Fits that are interrupted and go on: the same answer, to the last bit, as without the interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from latentbits import AspectBernoulli, BetaICA, DataError, load_model, save_model, simulate
from latentbits.fitting.climb import Monitor, Position, climb
from latentbits.storage import checkpoints
from latentbits.storage.checkpoints import RunCheckpoint
from tests.fitting.toys import Point, Slope

X = simulate.aspect_bernoulli(60, 25, 3, random_state=1).X
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)

MODELS = {
    "aspects": AspectBernoulli(3, n_init=2, tol=1e-9, random_state=4),
    "noise": AspectBernoulli(2, n_init=2, noise="auto", random_state=4),
    "vb": BetaICA(3, n_init=2, tol=1e-9, random_state=4),
    "em": BetaICA(3, inference="em", n_init=2, random_state=4),
}


@pytest.fixture
def often(monkeypatch):
    """A position is saved after every round."""
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)


def stored(file):
    """The position in a file, whatever the form of its state."""
    with np.load(file) as arrays:
        n_arrays = sum(name.startswith("state_") for name in arrays)
        return RunCheckpoint(file).load(tuple(arrays[f"state_{number}"] for number in range(n_arrays)))


class Killed(Exception):
    pass


def kill_after(monkeypatch, n_saved):
    """The process ends, for all the fit can tell, when so many positions have been saved."""
    save, left = RunCheckpoint.save, [n_saved]

    def until_then(self, position):
        save(self, position)
        left[0] -= 1
        if left[0] <= 0:
            raise Killed

    monkeypatch.setattr(RunCheckpoint, "save", until_then)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_saved", [1, 7, 23])
def test_a_killed_fit_goes_on_to_the_same_answer(name, n_saved, often, tmp_path):
    whole = MODELS[name].fit(HOLES)
    model = type(whole)(**{**whole.get_params(), "checkpoint": tmp_path})
    with pytest.MonkeyPatch.context() as patch:
        kill_after(patch, n_saved)
        with pytest.raises(Killed):
            model.fit(HOLES)
    model.fit(HOLES)
    np.testing.assert_array_equal(model.components_, whole.components_)
    np.testing.assert_array_equal(model.weights_, whole.weights_)
    for one, other in zip(model.restart_histories_, whole.restart_histories_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_it_does_go_on_and_does_not_begin_anew(often, tmp_path, monkeypatch):
    model = AspectBernoulli(3, n_init=1, tol=1e-9, random_state=4, checkpoint=tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        kill_after(patch, 5)
        with pytest.raises(Killed):
            model.fit(X)
    (position,) = [stored(file) for file in tmp_path.glob("*/run-0.npz")]
    assert len(position.history) == 15, "five rounds of three passes"
    passes = []
    record = Monitor.record
    monkeypatch.setattr(Monitor, "record", lambda self, value: passes.append(value) or record(self, value))
    model.fit(X)
    assert len(passes) == model.n_iter_ - 15


def test_a_finished_fit_makes_no_pass_again(tmp_path, monkeypatch):
    first = AspectBernoulli(3, n_init=2, random_state=4, checkpoint=tmp_path).fit(X)
    monkeypatch.setattr(Monitor, "record", lambda self, value: pytest.fail("a pass was made"))
    again = AspectBernoulli(3, n_init=2, random_state=4, checkpoint=tmp_path).fit(X)
    np.testing.assert_array_equal(first.components_, again.components_)
    assert first.objective_ == again.objective_
    assert first.converged_ == again.converged_


def test_without_a_seed_an_interrupted_fit_goes_on_and_a_finished_one_is_made_anew(often, tmp_path):
    def model():
        return AspectBernoulli(3, n_init=1, tol=1e-9, checkpoint=tmp_path)

    with pytest.MonkeyPatch.context() as patch:
        kill_after(patch, 3)
        with pytest.raises(Killed):
            model().fit(X)
    (file,) = tmp_path.glob("*/seeds.json")
    seeds = json.loads(file.read_text())
    assert model().fit(X).restarts_["seed"].tolist() == seeds
    assert model().fit(X).restarts_["seed"].tolist() != seeds


def test_a_generator_counts_by_the_state_that_it_is_in(tmp_path):
    def fitted(seed, checkpoint):
        rng = np.random.default_rng(seed)
        return AspectBernoulli(3, n_init=1, random_state=rng, checkpoint=checkpoint).fit(X).components_

    for seed in (3, 4):
        np.testing.assert_array_equal(fitted(seed, tmp_path), fitted(seed, None))


def test_it_says_where_it_goes_on(often, tmp_path):
    model = AspectBernoulli(3, n_init=2, tol=1e-9, random_state=4, checkpoint=tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        kill_after(patch, 5)
        with pytest.raises(Killed):
            model.fit(X)
    with pytest.warns(UserWarning, match="resuming from the checkpoint: restart 1 after pass 15"):
        model.fit(X)
    with pytest.warns(UserWarning, match="restart 1 is finished, restart 2 is finished"):
        model.fit(X)
    with pytest.warns(UserWarning, match="only has fits of other data or parameters, so this one starts anew"):
        model.fit(X[:50])


@pytest.mark.parametrize("change", [{"n_components": 2}, {"tol": 1e-3}, {"noise": "white"}, {"random_state": 5}])
def test_other_problems_keep_apart(change, tmp_path):
    AspectBernoulli(3, n_init=1, random_state=4, checkpoint=tmp_path).fit(X)
    parameters = {"n_components": 3, "n_init": 1, "random_state": 4, **change}
    other = AspectBernoulli(**parameters, checkpoint=tmp_path).fit(X)
    np.testing.assert_array_equal(other.components_, AspectBernoulli(**parameters).fit(X).components_)
    assert len(list(tmp_path.iterdir())) == 2


def test_other_data_and_weights_keep_apart(tmp_path):
    def model():
        return AspectBernoulli(2, n_init=1, random_state=4, checkpoint=tmp_path)

    model().fit(X)
    model().fit(X[:50])
    model().fit(X, sample_weight=np.arange(60) + 1.0)
    assert len(list(tmp_path.iterdir())) == 3


def test_an_interrupted_climb_leaves_its_position_and_not_a_result(tmp_path):
    checkpoint = RunCheckpoint(tmp_path / "run.npz")
    stops = iter([False, False, True, True, True])
    climb(
        Slope(), Point(np.array([3.0, 4.0, 5.0])), Monitor(0, 60, cancelled=lambda: next(stops), checkpoint=checkpoint)
    )
    assert stored(checkpoint.file).objective is None
    assert len(stored(checkpoint.file).history) == 3


def test_a_position_comes_back_as_it_was(tmp_path):
    checkpoint = RunCheckpoint(tmp_path / "run.npz")
    assert not checkpoint.exists()
    position = Position([np.eye(2), np.arange(3.0)], np.inf, [-2.0, -1.5], -1.5, False)
    checkpoint.save(position)
    back = checkpoint.load((np.ones((2, 2)), np.ones(3)))
    assert back._replace(state=None) == position._replace(state=None)
    for one, other in zip(back.state, position.state, strict=True):
        np.testing.assert_array_equal(one, other)


def test_it_is_written_every_minute_only(tmp_path):
    AspectBernoulli(3, n_init=1, random_state=4, checkpoint=tmp_path).fit(X)
    (file,) = tmp_path.glob("*/run-0.npz")
    assert stored(file).objective is not None, "at the end, and before it no minute had passed"


@pytest.mark.parametrize("name", ["run-0.npz", "seeds.json"])
def test_a_damaged_file_is_named(name, tmp_path):
    model = AspectBernoulli(3, n_init=1, random_state=4, checkpoint=tmp_path).fit(X)
    (file,) = tmp_path.glob(f"*/{name}")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(DataError, match=rf"{name} is damaged; delete the folder .* to start again"):
        model.fit(X)


def test_a_flipped_bit_is_noticed(tmp_path):
    AspectBernoulli(3, n_init=1, random_state=4, checkpoint=tmp_path).fit(X)
    (file,) = tmp_path.glob("*/run-0.npz")
    content = file.read_bytes()
    for place in range(0, len(content), 97):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place % 8)
        file.write_bytes(flipped)
        with pytest.raises(DataError, match="is damaged; delete the folder"):
            RunCheckpoint(file).progress()


@pytest.mark.parametrize(
    "change",
    [
        {"longest": "x"},
        {"longest": np.nan},
        {"longest": 0.5},
        {"converged": 1},
        {"history": ["x"]},
        {"history": [-2.0, np.inf]},
        {"last_checked": np.nan},
        {"objective": True},
        {"objective": 1e9},
        {"state": [np.array([np.nan, 1.0])]},
    ],
)
def test_a_position_of_other_types_is_refused(change, tmp_path):
    position = Position([np.ones(2)], 1.0, [-2.0, -1.0], -1.0, False, None)
    checkpoint = RunCheckpoint(tmp_path / "run-0.npz")
    checkpoint.save(position)
    assert checkpoint.load((np.ones(2),)).history == [-2.0, -1.0]
    checkpoint.save(position._replace(**change))
    with pytest.raises(DataError, match="is damaged"):
        checkpoint.load((np.ones(2),))


LEARNERS = {
    **MODELS,
    "nested steps": BetaICA(2, n_init=1, inner_max_iter=3, random_state=4),
    "batches": AspectBernoulli(2, n_init=1, batch_size=16, random_state=4),
    "sparse": AspectBernoulli(2, n_init=1, zeros="expanded", tol=1e-6, random_state=4),
    "black": AspectBernoulli(2, n_init=1, noise="both", noise_rate=None, random_state=4),
}
SPARSE = sp.csr_array(sp.random_array((300, 500), density=0.01, rng=0) != 0).astype(float)


def forged(array):
    """The same array in every form that isn't its own, and with values that no learner has."""
    yield "shrunk", array[:-1]
    yield "narrow", array[..., :-1]
    yield "grown", np.concatenate([array, array[:1]])
    yield "wide", np.concatenate([array, array[..., :1]], axis=-1)
    yield "flat", array.ravel()
    yield "empty", array[:0]
    yield "transposed", array.T
    yield "deep", array[None]
    for kind in (np.float32, np.int64, np.bool_, np.uint8):
        yield str(np.dtype(kind)), array.astype(kind)
    yield "outside", -1 - array if np.min(array) >= 0 else 1 - array  # logarithms of shares are below 0
    yield "not a number", np.full_like(array, np.nan)


def checkpoints_of(model, data, folder, monkeypatch, *, finished):
    """The files that a fit leaves, at its end or when it is killed after two rounds."""
    model = clone(model).set_params(checkpoint=folder)
    if finished:
        model.fit(data)
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoints, "EVERY", 0.0)
            kill_after(patch, 2)
            with pytest.raises(Killed):
                model.fit(data)
    return model, sorted(folder.glob("*/run-*.npz"))[:1]


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_forged_position_is_refused(name, finished, tmp_path, monkeypatch):
    model, data = LEARNERS[name], SPARSE if name == "sparse" else HOLES
    model, (file,) = checkpoints_of(model, data, tmp_path, monkeypatch, finished=finished)
    position, whole = stored(file), file.read_bytes()
    assert len(position.state) == {"vb": 4, "nested steps": 4, "em": 3, "sparse": 3}.get(name, 2)
    checkpoint = RunCheckpoint(file)
    for place, array in enumerate(position.state):
        for what, other in forged(array):
            if other.shape == array.shape and other.dtype == array.dtype and np.array_equal(other, array):
                continue
            state = [*position.state[:place], other, *position.state[place + 1 :]]
            checkpoint.save(position._replace(state=state))
            with pytest.raises(DataError, match=r"is (not of this fit \(.*\)|damaged); delete the folder"):
                pytest.fail(f"{what} array {place}: {model.fit(data)}")
    for state in (position.state[:-1], [*position.state, position.state[0]], []):
        checkpoint.save(position._replace(state=state))
        with pytest.raises(DataError, match=r"is not of this fit \(it has \d arrays?; \d were expected\); delete"):
            model.fit(data)
    for objective in (
        1e9,
        0.0,
        position.history[-1] + 1e-3 * abs(position.history[-1]) * finished,
    ):
        if objective == position.history[-1]:
            continue  # of an unfinished run only that it is too high can be told: its state is one step ahead
        record = {"history": [*position.history[:-1], objective], "last_checked": objective}
        checkpoint.save(position._replace(**record, objective=objective if finished else None))
        with pytest.raises(DataError, match=r"is not of this fit \(its state has another objective than it says\)"):
            model.fit(data)
    file.write_bytes(whole)
    model.fit(data)


def test_another_number_of_components_is_refused(tmp_path, monkeypatch):
    three, (file,) = checkpoints_of(MODELS["aspects"], X, tmp_path / "3", monkeypatch, finished=True)
    _, (other,) = checkpoints_of(three.set_params(n_components=7), X, tmp_path / "7", monkeypatch, finished=True)
    file.write_bytes(other.read_bytes())
    with pytest.raises(DataError, match=r"W has shape \(60, 7\) and type float64; \(60, 3\) and float64 were expected"):
        three.set_params(n_components=3, checkpoint=tmp_path / "3").fit(X)


@pytest.mark.parametrize("seeds", ["[-1, 2]", "[1.5, 2]", "[true, 2]", '{"0": 1}', "[4294967296, 1]", "[1]", "7"])
def test_forged_seeds_are_refused(seeds, tmp_path):
    model = AspectBernoulli(2, n_init=2, random_state=4, checkpoint=tmp_path).fit(X)
    (file,) = tmp_path.glob("*/seeds.json")
    file.write_text(seeds)
    with pytest.raises(DataError, match=r"seeds\.json is damaged; delete the folder"):
        model.fit(X)


def test_a_place_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="can't be a folder"):
        AspectBernoulli(2, checkpoint=tmp_path / "file").fit(X)


def test_chains_have_none(tmp_path):
    with pytest.raises(DataError, match="chains keep no checkpoint"):
        BetaICA(2, inference="gibbs", checkpoint=tmp_path).fit(X)


def test_a_model_file_names_no_place(tmp_path):
    model = AspectBernoulli(2, n_init=1, checkpoint=tmp_path / "positions").fit(X)
    save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").checkpoint is None


KILLED = """
import sys
from latentbits import AspectBernoulli
from latentbits.storage import checkpoints
from tests.storage.test_checkpoints import LARGER
checkpoints.EVERY = 0.0
model = AspectBernoulli(4, n_init=1, tol=0, max_iter=600, random_state=0, checkpoint=sys.argv[1])
print("begins", flush=True)
model.fit(LARGER)
"""
LARGER = simulate.aspect_bernoulli(300, 40, 4, random_state=2).X


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_process_killed_at_any_moment_leaves_a_whole_position(tmp_path):
    root = Path(__file__).parents[2]
    for delay in (0.05, 0.2):
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path)],
            stdout=subprocess.PIPE,
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
        )
        with process:
            assert process.stdout.readline() == b"begins\n"
            while process.poll() is None and not list(tmp_path.glob("*/run-0.npz")):
                time.sleep(0.01)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
    options = {"n_init": 1, "tol": 0, "max_iter": 600, "random_state": 0}
    with pytest.warns(Warning, match="without converging"):
        resumed = AspectBernoulli(4, checkpoint=tmp_path, **options).fit(LARGER)
    with pytest.warns(Warning, match="without converging"):
        whole = AspectBernoulli(4, **options).fit(LARGER)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.weights_, whole.weights_)
