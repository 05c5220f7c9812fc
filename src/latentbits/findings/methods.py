"""A paragraph for the methods section of a paper, made from a fit, so that what is published is what was done."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from latentbits.errors import DataError
from latentbits.wording import counted, plural

if TYPE_CHECKING:
    from latentbits.tasks.select import OrderSelection
    from latentbits.tasks.verdict import Verdict

__all__ = ["methods_text"]


class Described(NamedTuple):
    """What a model is in a sentence ("we fitted ..."), whom to cite, and a sentence about what it has found."""

    words: str
    reference: str = ""
    found: str = ""


_MODELS = {
    "AspectBernoulli": Described(
        "an aspect Bernoulli model, in which every cell of a row is caused by one of {components}, picked by the "
        "row's own weights, by maximum likelihood",
        "Bingham, Kabán and Fortelius, The aspect Bernoulli model: multiple causes of presences and absences, 2009",
    ),
    "BetaICA": Described(
        "a Bayesian aspect model (beta ICA) with {components}, Beta priors on their probabilities and Dirichlet "
        "priors on the weights of rows, by {inference}",
        "Kabán and Bingham, Factorisation and denoising of 0-1 data: a variational approach, 2008",
    ),
    "BernoulliNMF": Described(
        "a nonnegative factorisation with {components}, whose sums saturate to probabilities of a 1, by maximum "
        "likelihood"
    ),
    "BernoulliMixture": Described(
        "a mixture of multivariate Bernoulli distributions with {components} by expectation-maximisation",
        "Lazarsfeld and Henry, Latent structure analysis, 1968",
    ),
    "LogisticPCA": Described(
        "a logistic principal component analysis with {components} and a ridge of {ridge:g}",
        "Schein, Saul and Ungar, A generalized linear model for principal component analysis of binary data, 2003",
    ),
    "PLSA": Described(
        "a probabilistic latent semantic analysis of the ones with {components}",
        "Hofmann, Unsupervised learning by probabilistic latent semantic analysis, 2001",
    ),
    "NMF": Described(
        "a non-negative matrix factorisation with {components} by least squares",
        "Lee and Seung, Learning the parts of objects by non-negative matrix factorization, 1999",
    ),
    "FastICA": Described(
        "an independent component analysis of the cells with {components}",
        "Hyvärinen, Fast and robust fixed-point algorithms for independent component analysis, 1999",
    ),
    "ProbitFactors": Described(
        "a Bayesian probit factor analysis with up to {factors} by Gibbs sampling",
        "Albert and Chib, Bayesian analysis of binary and polychotomous response data, 1993",
    ),
    "IndependentBernoulli": Described("the frequencies of the columns, taken as independent"),
    "RowColumnBernoulli": Described("an effect of each row and each column on the log odds of a 1"),
    "IsingModel": Described(
        "an Ising model of the columns by penalised pseudo-likelihood (ridge {ridge:g})",
        "Besag, Statistical analysis of non-lattice data, 1975",
    ),
    "LinearAutoencoder": Described(
        "a linear autoencoder (each column's ridge regression on the others, ridge {ridge:g})",
        "Steck, Embarrassingly shallow autoencoders for sparse data, 2019",
    ),
    "FalseZeros": Described(
        "an ensemble of {members}, whose log odds were {weighted}", "Wolpert, Stacked generalization, 1992"
    ),
    "RepeatedSurvey": Described(
        "a model of repeat visits, which learns from species that were seen again how much a visit sees; what was ever "
        "seen was predicted by {estimator}",
        "Royle and Nichols, Estimating abundance from repeated presence-absence data or point counts, 2003",
    ),
    "BinaryICA": Described(
        "a binary independent component analysis with {sources}, whose variances differ between {segments} "
        "(method {method})",
        "Hyttinen, Barin-Pacela and Hyvärinen, Binary independent component analysis: a non-stationarity-based "
        "approach, 2022",
    ),
    "BinaryFactorAnalysis": Described(
        "a binary factor analysis with {at_most}{factors} by {inference}",
        "Tu and Xu, Learning binary factor analysis with automatic model selection, 2014",
        "It ended with {factors_found}.",
    ),
    "ICAMixture": Described(
        "a variational mixture of independent component analysers, which begins with {first_clusters} of at most "
        "{first_sources} each{keeps}",
        "Chan, Lee and Sejnowski, Variational learning of clusters of undercomplete nonsymmetric independent "
        "components, 2002",
        "It ended with {clusters}, of {cluster_sources}.",
    ),
}
_INFERENCE = {
    "BetaICA": {"vb": "variational Bayes", "em": "variational expectation-maximisation", "gibbs": "Gibbs sampling"},
    "BinaryFactorAnalysis": {
        "auto": "maximum likelihood, their number by BIC",
        "byy": "Bayesian Ying-Yang learning",
        "vb": "variational Bayes",
        "em": "maximum likelihood",
    },
}
_CRITERIA = {"aic": "AIC", "bic": "BIC", "cv": "held-out rows", "cells": "held-out cells", "pairs": "held-out pairs"}


def methods_text(model: Any, *, verdict: Verdict | None = None) -> str:
    """Write a methods paragraph from a fitted model: what was fitted, to what, how, from which seed, and whom to cite.

    Parameters
    ----------
    model : fitted estimator or OrderSelection
        Any of the library's; or what `select_order` has returned, which tells also how the number of components was
        chosen.
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

    from latentbits.tasks.select import OrderSelection

    selection = model if isinstance(model, OrderSelection) else None
    if selection is not None:
        model = selection.best_model
    if model is None:
        raise DataError(
            "no source was chosen, so there is no model to tell of; the columns are best taken as independent"
        )
    check_is_fitted(model)
    sentences = [
        f"{_to_what(model)} fitted {_described(model)}.",
        *_found(model),
        *([] if selection is None else [_chosen(selection)]),
        *_how(model, model if selection is None else selection.estimator),
        *_noise(model),
        *([] if verdict is None else verdict.sentences),
        _with_what(model),
    ]
    return "\n".join([" ".join(sentences), *(f"- {reference}." for reference in dict.fromkeys(_references(model)))])


def _entry(model: Any) -> Described:
    return _MODELS.get(type(model).__name__, Described(f"{type(model).__name__}{{with_components}}"))


def _described(model: Any) -> str:
    return _entry(model).words.format(**_words(model))


def _found(model: Any) -> Iterator[str]:
    if _entry(model).found:
        yield _entry(model).found.format(**_words(model))


def _references(model: Any) -> Iterator[str]:
    """Of the model, and of those that it is made of."""
    if _entry(model).reference:
        yield _entry(model).reference
    for inner in (*getattr(model, "members_", {}).values(), getattr(model, "estimator_", None)):
        if inner is not None:
            yield from _references(inner)


def _words(model: Any) -> dict[str, Any]:
    """What sentences may name: parameters, with words for those that are abbreviations."""
    values = dict(model.get_params(deep=False))
    K = values.get("n_components")
    K = model.mixing_.shape[1] if K is None and hasattr(model, "mixing_") else K
    if K is not None:
        values |= {f"{noun}s": counted(K, noun) for noun in ("component", "factor", "source")}
    values["with_components"] = "" if K is None else f" with {counted(K, 'component')}"
    values["inference"] = _INFERENCE.get(type(model).__name__, {}).get(values.get("inference", ""))
    values["at_most"] = "" if values["inference"] == "maximum likelihood" else "at most "
    values["factors_found"] = counted(getattr(model, "n_components_", 0), "factor")
    if hasattr(model, "members_"):
        made = counted(len(model.members_), "model")
        hidden = "weighted by how well they predict hidden cells" if model.n_hidden_ else "weighted equally"
        values |= {"members": f"{made} ({', '.join(model.members_)})", "weighted": hidden}
    if hasattr(model, "segments_"):
        values["segments"] = counted(len(model.segments_), "segment")
    if hasattr(model, "n_clusters_"):
        values |= _of_clusters(model)
    if hasattr(model, "estimator_"):
        values["estimator"] = _described(model.estimator_)
    return values


def _of_clusters(model: Any) -> dict[str, str]:
    numbers = [str(n) for n in model.n_sources_]
    together = f"{', '.join(numbers[:-1])} and {numbers[-1]}" if len(numbers) > 1 else numbers[0]
    return {
        "first_clusters": counted(model.n_clusters, "cluster"),
        "first_sources": counted(model.n_sources, "source"),
        "clusters": counted(model.n_clusters_, "cluster"),
        "cluster_sources": f"{together} {plural(int(max(model.n_sources_)), 'source')}",
        "keeps": " and removes those that aren't needed" if model.delete else "",
    }


def _to_what(model: Any) -> str:
    from latentbits.models.view import n_rows

    survey = getattr(model, "survey_", None)
    if survey is not None:
        sites, species = survey.n_visits.shape
        visits = f"up to {counted(int(survey.n_visits.max()), 'visit')}"
        return f"To {counted(sites, 'site')} with {visits} and {species} species we"
    sizes = [(n_rows(model), "row"), (getattr(model, "n_features_in_", None), "column")]
    found = [counted(n, what) for n, what in sizes if n is not None]
    return f"To {' and '.join(found)} we" if found else "We"


def _how(model: Any, given: Any) -> Iterator[str]:
    """Random starts or chains, and the seed that the user has `given`; of a selection that may be the selection's."""
    from latentbits.models.view import largest_r_hat, n_agreeing

    inner = getattr(given, "estimator_", given)
    seed = getattr(inner, "random_state", None)
    from_seed = "" if given is not model and seed is None else f" ({_seed(seed)})"
    made = len(getattr(model, "restarts_", ()))
    if getattr(model, "r_hat_", None) is not None:
        yield f"Of {counted(made, 'chain')}{from_seed} the largest R-hat was {largest_r_hat(model):.3f}."
    elif made == 1:
        yield f"There was one random start{from_seed}."
    elif made and hasattr(model, "objective_"):
        yield (
            f"The best of {made} random starts{from_seed} was kept; {n_agreeing(model)} came within 0.01 % of its "
            "objective."
        )
    elif hasattr(inner, "random_state"):
        yield f"Random numbers came from a generator{from_seed}."


def _chosen(selection: OrderSelection) -> str:
    """How the number of components was chosen."""
    choice = selection.choices.iloc[0]
    tried = [str(k) for k in selection.models]
    folds = selection.folds.loc[selection.folds["criterion"] == choice["criterion"], "fold"]
    parts = f" in {folds.nunique()} parts" if len(folds) else ""
    by = _CRITERIA.get(choice["criterion"], choice["criterion"])
    rival = ""
    if choice["rival"] != choice["best"]:
        rival = f"; {choice['rival']} came within one standard error of it"
    return (
        f"The number of {selection.noun}s was chosen from {', '.join(tried[:-1])} and {tried[-1]} by {by}{parts} "
        f"({_seed(selection.random_state)}): {choice['best']}{rival}."
    )


def _seed(seed: Any) -> str:
    return f"seed {seed}" if isinstance(seed, int) else "no fixed seed"


def _noise(model: Any) -> Iterator[str]:
    kinds = [str(kind) for kind in getattr(model, "phantoms_", ())]
    if "white" in kinds or "black" in kinds:
        found = [f"{kinds.count(kind)} {kind}" for kind in ("white", "black") if kind in kinds]
        yield f"Components that cause zeros (white) or ones (black) only were taken for noise: {' and '.join(found)}."


def _with_what(model: Any) -> str:
    from latentbits.version import __version__

    return f"All computations were made with latentbits {__version__} ({type(model).__name__}) in Python {_python()}."


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
