"""How far factors and classes are from those of psych, lavaan and StepMix: the table of docs/coming-from.md.

`python -m tests.test_differences` prints it; the other packages' numbers stand in the tests named here, with versions.
"""

import re
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from latentbits import BernoulliMixture, BinaryData, factor_analysis, tetrachoric
from latentbits.correlations.factor_fit import sampling_covariance
from tests.correlations.test_factors import (
    DISCRIMINATIONS,
    LAVAAN,
    LAVAAN_VARIANCES,
    LSAT_ROWS,
    PSYCH,
    PSYCH_BETWEEN,
    items,
)
from tests.models.test_bernoulli_mixture import STEPMIX, classes
from tests.reference.coming_from import PAGE


def differences() -> Iterator[tuple[str, str, float]]:
    """The other package, what is compared, and the largest difference."""
    X = items(500)
    for rotation, theirs in PSYCH.items():
        found = factor_analysis(X, 2, rotation=rotation, weights="equal")
        second = found.loadings[:, np.abs(found.loadings[0]).argmax()]
        yield "psych", f"loadings, {rotation}", np.abs(second - theirs).max()
        if rotation == "oblimin":
            yield "psych", "correlation of the factors", abs(found.factor_correlations[0, 1] - PSYCH_BETWEEN)
    loading = factor_analysis(LSAT_ROWS, 1, weights="equal").loadings[:, 0]
    yield "psych", "discriminations of LSAT 6", np.abs(loading / np.sqrt(1 - loading**2) - DISCRIMINATIONS).max()
    fits = {K: factor_analysis(X, K, weights="equal").fit for K in LAVAAN}
    theirs = np.array(list(LAVAAN.values()))
    ours = np.array([(f.chi_square, f.p_value, f.rmsea, f.rmsea_low, f.rmsea_high, f.srmr) for f in fits.values()])
    yield "lavaan", "chi-square, relative", np.abs(ours[:, 0] / theirs[:, 0] - 1).max()
    for name, columns in {"p value": [1], "RMSEA and its interval": [2, 3, 4], "SRMR": [5]}.items():
        yield "lavaan", name, np.abs(ours - theirs)[:, columns].max()
    variances = np.diag(sampling_covariance(BinaryData.of(X), tetrachoric(X)))
    yield "lavaan", "sampling variances of correlations, relative", np.abs(variances / LAVAAN_VARIANCES - 1).max()
    yield "integration", "factor scores and their standard errors", _scores()
    largest = np.zeros(4)
    for K, (log_likelihood, aic, bic, caic, entropy, shares) in STEPMIX.items():
        Y = classes(600)
        model = BernoulliMixture(K, smoothing=0, n_init=20, tol=1e-12, max_iter=20_000, random_state=0).fit(Y)
        figures, own = model.class_figures(Y), model.class_sizes(Y)["share"]
        criteria = [figures["aic"] - aic, figures["bic"] - bic, figures["caic"] - caic]
        now = [figures["log_likelihood"] - log_likelihood, np.abs(criteria).max()]
        now += [figures["relative_entropy"] - entropy, np.abs(own - shares).max()]
        largest = np.maximum(largest, np.abs(now))
    for name, value in zip(
        ("log likelihood", "AIC, BIC, CAIC", "relative entropy", "class sizes"), largest, strict=True
    ):
        yield "StepMix", name, value


def _scores() -> float:
    """From posterior means and standard deviations on a grid of 81 x 81 points, for 20 rows."""
    X = items(300, correlation=0.4)
    solution = factor_analysis(X, 2)
    found = solution.scores(X[:20])
    points = np.linspace(-5, 5, 81)
    Z = np.array([(a, b) for a in points for b in points])
    prior = multivariate_normal([0, 0], solution.factor_correlations).pdf(Z)
    p = norm.cdf((Z @ solution.loadings.T - solution.thresholds) / np.sqrt(solution.uniquenesses))
    weight = prior[:, None] * np.stack([np.where(x == 1, p, 1 - p).prod(axis=1) for x in X[:20]], axis=1)
    weight /= weight.sum(axis=0)
    mean = weight.T @ Z
    sd = np.sqrt(weight.T @ Z**2 - mean**2)
    return float(max(np.abs(found.scores - mean).max(), np.abs(found.standard_errors - sd).max()))


def stated() -> dict[tuple[str, str], float]:
    """What the page says."""
    lines = re.findall(
        r"^\| (psych|lavaan|integration|StepMix) \| ([^|]+) \| ([0-9.e-]+) \|$", PAGE.read_text(encoding="utf-8"), re.M
    )
    return {(package, what): float(value) for package, what, value in lines}


@pytest.mark.filterwarnings("ignore:.*empty cell")
def test_no_difference_is_larger_than_the_page_says():
    page = stated()
    found = {(package, what): value for package, what, value in differences()}
    assert found.keys() == page.keys()
    for key, value in found.items():
        # 1e-6 is the last digit that the other packages' numbers have here.
        assert value <= page[key] <= 10 * max(value, 1e-6), key


if __name__ == "__main__":
    for package, what, value in differences():
        sys.stdout.write(f"| {package} | {what} | {value:.1e} |\n")
