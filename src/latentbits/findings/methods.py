"""A paragraph for the methods section of a paper, made from a fit, so that what is published is what was done."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from latentbits.tasks.verdict import Verdict

__all__ = ["methods_text"]


class Described(NamedTuple):
    """What a model is in a sentence ("we fitted ..."), and whom to cite."""

    words: str
    reference: str = ""


_ASPECTS = "Bingham, Kabán and Fortelius, The aspect Bernoulli model: multiple causes of presences and absences, 2009"
_MODELS = {
    "AspectBernoulli": Described(
        "an aspect Bernoulli model, in which every cell of a row is caused by one of {K} components, picked by the "
        "row's own weights, by maximum likelihood",
        _ASPECTS,
    ),
    "BetaICA": Described(
        "a Bayesian aspect model (beta ICA) with {K} components, Beta priors on their probabilities and Dirichlet "
        "priors on the weights of rows, by {inference}",
        "Kabán and Bingham, Factorisation and denoising of 0-1 data: a variational approach, 2008",
    ),
    "BernoulliMixture": Described("a mixture of {K} multivariate Bernoulli distributions by expectation-maximisation"),
    "LogisticPCA": Described(
        "a logistic principal component analysis with {K} components and a ridge of {ridge:g}",
        "Schein, Saul and Ungar, A generalized linear model for principal component analysis of binary data, 2003",
    ),
    "ProbitFactors": Described(
        "a Bayesian probit factor analysis with up to {K} factors by Gibbs sampling",
        "Albert and Chib, Bayesian analysis of binary and polychotomous response data, 1993",
    ),
    "IsingModel": Described(
        "an Ising model of the columns by penalised pseudo-likelihood (ridge {ridge:g})",
        "Besag, Statistical analysis of non-lattice data, 1975",
    ),
    "LinearAutoencoder": Described(
        "a linear autoencoder (each column's ridge regression on the others, ridge {ridge:g})",
        "Steck, Embarrassingly shallow autoencoders for sparse data, 2019",
    ),
    "FalseZeros": Described(
        "an ensemble of {n_members} models ({members}), whose log odds were weighted by how well they predict "
        "hidden cells"
    ),
    "RepeatedSurvey": Described(
        "a model of repeat visits, which learns from species that were seen again how much a visit sees",
        "Royle and Nichols, Estimating abundance from repeated presence-absence data or point counts, 2003",
    ),
    "BinaryICA": Described(
        "a binary independent component analysis with {K} sources, whose variances differ between segments "
        "(method {method})",
        "Hyttinen, Barin-Pacela and Hyvärinen, Binary independent component analysis: a non-stationarity-based "
        "approach, 2022",
    ),
    "BinaryFactorAnalysis": Described(
        "a binary factor analysis ({inference}) started with {K} factors",
        "Tu and Xu, Learning binary factor analysis with automatic model selection, 2014",
    ),
    "ICAMixture": Described(
        "a variational mixture of independent component analysers, started with {n_clusters} clusters of {n_sources} "
        "sources",
        "Chan, Lee and Sejnowski, Variational learning of clusters of undercomplete nonsymmetric independent "
        "components, 2002",
    ),
}
_INFERENCE = {"vb": "variational Bayes", "em": "variational expectation-maximisation", "gibbs": "Gibbs sampling"}


def methods_text(model: Any, *, verdict: Verdict | None = None) -> str:
    """Write a methods paragraph from a fitted model: what was fitted, to what, how, from which seed, and whom to cite.

    Parameters
    ----------
    model : fitted estimator
        Any of the library's.
    verdict : Verdict, optional
        What `verdict` has said of the same data; then it is reported, whatever it says.

    Returns
    -------
    str
        Sentences, and a line for each reference.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, methods_text, simulate
    >>> X = simulate.aspect_bernoulli(60, 12, 2, random_state=0).X
    >>> print(methods_text(AspectBernoulli(2, n_init=3, random_state=0).fit(X)).partition(", in which")[0])
    To 60 rows and 12 columns we fitted an aspect Bernoulli model
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    name = type(model).__name__
    described = _MODELS.get(name, Described(f"{name}{{with_K}}"))
    fitted = f"{_to_what(model)} fitted {described.words.format(**_words(model))}."
    sentences = [fitted, *_how(model), *([] if verdict is None else verdict.sentences), _with_what(model)]
    references = [described.reference] if described.reference else []
    return "\n".join([" ".join(sentences), *(f"- {reference}." for reference in references)])


def _words(model: Any) -> dict[str, Any]:
    """What sentences may name: parameters, with words for those that are abbreviations."""
    values = dict(model.get_params(deep=False))
    K = values.get("n_components")
    K = model.mixing_.shape[1] if K is None and hasattr(model, "mixing_") else K
    values |= {"K": K, "with_K": "" if K is None else f" with {K} components"}
    values["inference"] = _INFERENCE.get(values.get("inference", ""), values.get("inference"))
    if hasattr(model, "members_"):
        values |= {"members": ", ".join(model.members_), "n_members": len(model.members_)}
    return values


def _to_what(model: Any) -> str:
    from latentbits.wording import counted

    weights = None if hasattr(model, "members_") else getattr(model, "weights_", None)
    sizes = [(None if weights is None else len(weights), "row"), (getattr(model, "n_features_in_", None), "column")]
    found = [counted(n, what) for n, what in sizes if n is not None]
    return f"To {' and '.join(found)} we" if found else "We"


def _how(model: Any) -> Iterator[str]:
    """Random starts or chains, and the seed."""
    from latentbits.models.view import largest_r_hat, n_agreeing

    seed = getattr(model, "random_state", None)
    from_seed = f" (seed {seed})" if isinstance(seed, int) else " (no fixed seed)"
    if getattr(model, "r_hat_", None) is not None:
        yield f"Of {len(model.restarts_)} chains{from_seed} the largest R-hat was {largest_r_hat(model):.3f}."
    elif hasattr(model, "restarts_") and hasattr(model, "objective_"):
        made = len(model.restarts_)
        yield (
            f"The best of {made} random starts{from_seed} was kept; {n_agreeing(model)} came within 0.01 % of its "
            "objective."
        )
    elif hasattr(model, "random_state"):
        yield f"Random numbers came from a generator{from_seed}."
    kinds = [str(kind) for kind in getattr(model, "phantoms_", ())]
    if "white" in kinds or "black" in kinds:
        found = [f"{kinds.count(kind)} {kind}" for kind in ("white", "black") if kind in kinds]
        yield f"Components that cause zeros (white) or ones (black) only were taken for noise: {' and '.join(found)}."


def _with_what(model: Any) -> str:
    from latentbits.version import __version__

    return f"All computations were made with latentbits {__version__} ({type(model).__name__}) in Python {_python()}."


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
