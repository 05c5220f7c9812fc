"""Each kernel gets its arrays in one form: for another it is compiled again, which costs users and tests seconds."""

import ast
from pathlib import Path

import joblib
import numpy as np
import pytest

import latentbits.kernels
from latentbits import (
    PLSA,
    AspectBernoulli,
    BernoulliMixture,
    BernoulliNMF,
    BetaICA,
    ICAMixture,
    LogisticPCA,
    ProbitFactors,
    simulate,
    solve_bqp,
)
from latentbits.models import bernoulli_nmf, logistic_pca, plsa
from latentbits.models import mixture as bernoulli_mixture
from latentbits.models import probit_sampler as probit_factors
from latentbits.models.aspect import gibbs, stacked, variational
from latentbits.models.aspect import maximum_likelihood as sparse_zeros
from latentbits.models.aspect import statistics as aspect
from latentbits.models.binary_factors import encoders
from latentbits.models.ica_mixture import cluster_updates as ica_mixture
from latentbits.numerics import kernel_array

X = simulate.aspect_bernoulli(40, 8, 2, missing=0.1, random_state=0).X
SPARSE = np.hstack([X[:, :1], np.eye(40, 20)])  # a column that is exact, and many that are not
POINTS = simulate.ica_mixture([np.eye(2)], n_points=40, random_state=0).X

KERNELS = [
    (aspect, "aspect_pass"),
    (stacked, "aspect_pass"),
    (aspect, "fold_in"),
    (sparse_zeros, "aspect_pass"),
    (sparse_zeros, "exact_entries"),
    (sparse_zeros, "sparse_pass"),
    (gibbs, "draw_gamma"),
    (gibbs, "gibbs_sweeps"),
    (gibbs, "sample_rows"),
    (bernoulli_nmf, "tanh_rows"),
    (plsa, "smoothed_rows"),
    (variational, "gamma_functions"),
    (bernoulli_mixture, "mixture_pass"),
    (encoders, "quadratic_table"),
    (encoders, "enumerate_rows"),
    (encoders, "greedy_rows"),
    (encoders, "box_rows"),
    (ica_mixture, "source_pass"),
    (logistic_pca, "logistic_rows"),
    (probit_factors, "probit_sweeps"),
    (probit_factors, "probit_rows"),
]


@pytest.fixture(autouse=True)
def forms(monkeypatch):
    """For each kernel that was called the forms of its arguments: order and permission of arrays, types of numbers."""
    seen = {}

    def watched(kernel, name):
        def call(*arguments):
            seen.setdefault(name, set()).add(tuple(form_of(argument) for argument in arguments))
            return kernel(*arguments)

        return call

    for module, name in KERNELS:
        monkeypatch.setattr(module, name, watched(getattr(module, name), name))
    return seen


def form_of(argument):
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        assert argument.flags.writeable
        return argument.dtype.name, argument.ndim
    return type(argument).__name__


def read_only(model, folder):
    """The model as another process of joblib gets it: its arrays are mapped from a file."""
    joblib.dump(model, folder / "model")
    shared = joblib.load(folder / "model", mmap_mode="r")
    assert any(not value.flags.writeable for value in vars(shared).values() if isinstance(value, np.ndarray))
    return shared


@pytest.mark.parametrize(
    ("make", "data", "kernels"),
    [
        (lambda: AspectBernoulli(2, n_init=1, random_state=0), X, {"aspect_pass", "fold_in"}),
        (
            lambda: AspectBernoulli(2, n_init=1, random_state=0, zeros="expanded"),
            SPARSE,
            {"aspect_pass", "exact_entries", "sparse_pass", "fold_in"},
        ),
        (lambda: BetaICA(2, n_init=1, random_state=0), X, {"aspect_pass", "gamma_functions"}),
        (lambda: BernoulliMixture(2, n_init=1, random_state=0), X, {"mixture_pass"}),
        (
            lambda: BetaICA(2, inference="gibbs", n_init=1, random_state=0),
            X,
            {"draw_gamma", "gibbs_sweeps", "sample_rows"},
        ),
        (lambda: BernoulliNMF(2, n_init=1, random_state=0), X, {"tanh_rows"}),
        (lambda: PLSA(2, n_init=1, random_state=0), X, {"smoothed_rows"}),
        (lambda: LogisticPCA(2, ridge=1, n_init=1, random_state=0), X, {"logistic_rows"}),
        (lambda: ProbitFactors(2, n_init=1, random_state=0), X, {"probit_sweeps", "probit_rows"}),
        (lambda: ICAMixture(1, 1, n_init=1, random_state=0), POINTS, {"source_pass"}),
    ],
    ids=[
        "AspectBernoulli",
        "AspectBernoulli-sparse",
        "BetaICA",
        "BernoulliMixture",
        "BetaICA-gibbs",
        "BernoulliNMF",
        "PLSA",
        "LogisticPCA",
        "ProbitFactors",
        "ICAMixture",
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one short chain of a tiny table
def test_a_fit_and_a_read_only_model(make, data, kernels, forms, tmp_path):
    model = make().fit(data)
    np.testing.assert_array_equal(read_only(model, tmp_path).transform(data), model.transform(data))
    assert set(forms) == kernels
    assert all(len(each) == 1 for each in forms.values())


@pytest.mark.parametrize("method", ["enum", "greedy", "cdual"])
def test_a_read_only_binary_quadratic_program(method, forms):
    Q, F = np.eye(3), np.ones((4, 3))
    for array in (Q, F):
        array.flags.writeable = False
    solve_bqp(Q, F, method)
    assert forms


def test_a_ridge_that_is_a_whole_number_is_given_as_a_float(forms):
    for ridge in (1, 1.0, np.float64(1)):
        LogisticPCA(2, ridge=ridge, n_init=1, random_state=0).fit(X)
    assert len(forms["logistic_rows"]) == 1


def test_an_array_that_fits_is_not_copied():
    good = np.ones((2, 3))
    assert kernel_array(good) is good
    fixed = np.ones((2, 3))
    fixed.flags.writeable = False
    for bad in (fixed, good.T, good.astype(np.float32), [[1, 2], [3, 4]]):
        made = kernel_array(bad)
        assert made.flags.c_contiguous
        assert made.flags.writeable
        np.testing.assert_array_equal(made, bad)


def array_assignments(source):
    """Lines that assign something else than a number to a slice, but for the scalar variables of `SCALARS`."""
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign)
        and any(isinstance(part, ast.Slice) for target in node.targets for part in ast.walk(target))
        and not isinstance(node.value, ast.Constant)
        and ast.unparse(node.value) not in SCALARS
    ]


SCALARS = {"gamma", "BACKGROUND", "pull / weight + normal(state) / sqrt(weight)"}
FILES = sorted(Path(latentbits.kernels.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_arrays_are_copied_in_loops(file):
    """For `a[:] = b` Numba also compiles the words of an error about shapes, 1.5 to 3 s for each form of a and b."""
    assert array_assignments(file.read_text()) == []


def test_array_assignments_are_found():
    found = array_assignments("a[:] = 0.0\na[:] = b\na[1:, 2] = b + c\na[i] = b\n")
    assert found == ["2: a[:] = b", "3: a[1:, 2] = b + c"]
