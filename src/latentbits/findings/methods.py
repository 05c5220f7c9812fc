"""A paragraph for the methods section of a paper, made from a fit, so that what is published is what was done."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from latentbits.errors import DataError
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.spec import spec_of
from latentbits.wording import counted, plural

if TYPE_CHECKING:
    from latentbits.tasks.select import OrderSelection
    from latentbits.tasks.verdict import Verdict


class Described(NamedTuple):
    """What a model is in a sentence ("we fitted ..."), whom to cite, and a sentence about what it has found."""

    words: str
    reference: str = ""
    found: str = ""


_MODELS = {
    "aspect-bernoulli": Described(
        "an aspect Bernoulli model, in which every cell of a row is caused by one of {components}, picked by the "
        "row's own weights, by {likelihood}",
        "Bingham, Kabán and Fortelius, The aspect Bernoulli model: multiple causes of presences and absences, 2009",
    ),
    "beta-ica": Described(
        "a Bayesian aspect model (beta ICA) with {components}, Beta priors on their probabilities and Dirichlet "
        "priors on the weights of rows, by {inference}",
        "Kabán and Bingham, Factorisation and denoising of 0-1 data: a variational approach, 2008",
    ),
    "bernoulli-nmf": Described(
        "a nonnegative factorisation with {components}, whose sums saturate to probabilities of a 1, by {likelihood}"
    ),
    "bernoulli-mixture": Described(
        "a mixture of multivariate Bernoulli distributions with {components} by expectation-maximisation",
        "Lazarsfeld and Henry, Latent structure analysis, 1968",
    ),
    "logistic-pca": Described(
        "a logistic principal component analysis with {components} and a ridge of {ridge:g}",
        "Schein, Saul and Ungar, A generalized linear model for principal component analysis of binary data, 2003",
    ),
    "plsa": Described(
        "a probabilistic latent semantic analysis of the ones with {components}, by {likelihood}",
        "Hofmann, Unsupervised learning by probabilistic latent semantic analysis, 2001",
    ),
    "nmf": Described(
        "a non-negative matrix factorisation with {components} by least squares",
        "Lee and Seung, Learning the parts of objects by non-negative matrix factorization, 1999",
    ),
    "fast-ica": Described(
        "an independent component analysis of the cells with {components}",
        "Hyvärinen, Fast and robust fixed-point algorithms for independent component analysis, 1999",
    ),
    "probit-factors": Described(
        "a Bayesian probit factor analysis with up to {factors} by Gibbs sampling",
        "Albert and Chib, Bayesian analysis of binary and polychotomous response data, 1993",
    ),
    "independent": Described("the frequencies of the columns, taken as independent"),
    "row-column": Described("an effect of each row and each column on the log odds of a 1"),
    "ising": Described(
        "an Ising model of the columns by penalised pseudo-likelihood (ridge {ridge:g})",
        "Besag, Statistical analysis of non-lattice data, 1975",
    ),
    "linear-autoencoder": Described(
        "a linear autoencoder (each column's ridge regression on the others, ridge {ridge:g})",
        "Steck, Embarrassingly shallow autoencoders for sparse data, 2019",
    ),
    "false-zeros": Described(
        "an ensemble of {members}, whose log odds were {weighted}", "Wolpert, Stacked generalization, 1992"
    ),
    "binary-ica": Described(
        "a binary independent component analysis with {sources}, whose variances differ between {segments} "
        "(method {method})",
        "Hyttinen, Barin-Pacela and Hyvärinen, Binary independent component analysis: a non-stationarity-based "
        "approach, 2022",
    ),
    "binary-factors": Described(
        "a binary factor analysis with {at_most}{factors} by {inference}",
        "Tu and Xu, Learning binary factor analysis with automatic model selection, 2014",
        "It ended with {factors_found}.",
    ),
    "ica-mixture": Described(
        "a variational mixture of independent component analysers, which begins with {first_clusters} of at most "
        "{first_sources} each{keeps}",
        "Chan, Lee and Sejnowski, Variational learning of clusters of undercomplete nonsymmetric independent "
        "components, 2002",
        "It ended with {clusters}, of {cluster_sources}.",
    ),
    "repeated-survey": Described(
        "a model of repeat visits, in which detection of each species is drawn towards that of the others and species "
        "are missed {missed}; what was ever seen was predicted by {estimator}",
        "MacKenzie et al., Estimating site occupancy rates when detection probabilities are less than one, 2002; Royle "
        "and Nichols, Estimating abundance from repeated presence-absence data or point counts, 2003",
    ),
}
HAS_A_SAY = 0.05
"""Members of an ensemble with at least this weight are told with it."""

_INFERENCE = {
    "beta-ica": {"vb": "variational Bayes", "em": "variational expectation-maximisation", "gibbs": "Gibbs sampling"},
    "binary-factors": {
        "auto": "maximum likelihood, their number by BIC",
        "byy": "Bayesian Ying-Yang learning",
        "vb": "variational Bayes",
        "em": "maximum likelihood",
    },
}
_CRITERIA = {"aic": "AIC", "bic": "BIC", "cv": "held-out rows", "cells": "held-out cells", "pairs": "held-out pairs"}


def methods_text(model: Any, *, verdict: Verdict | None = None, choice: Mapping[str, Any] | None = None) -> str:
    """Write a methods paragraph from a fitted model: what was fitted, to what, how, from which seed, and whom to cite.

    Parameters
    ----------
    model : fitted estimator, OrderSelection or ModelChoice
        Any of the library's; or what `select_order` or `choose` has returned, which tells also how the number of
        components, or the model, was chosen.
    verdict : Verdict, optional
        What `verdict` has said of the same data; then it is reported, whatever it says.
    choice : mapping or None, default=None
        How `choose` has chosen the model, if it did, as "choice" in summary.json; a ModelChoice knows that itself.

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

    from latentbits.tasks.choose import ModelChoice
    from latentbits.tasks.select import OrderSelection

    if isinstance(model, ModelChoice):
        model, choice = model.model, model.note.arguments
    selection = model if isinstance(model, OrderSelection) else None
    if selection is not None:
        model = selection.best_model
    if model is None:
        raise DataError(
            "no source was chosen, so there is no model to describe; the columns are best taken as independent"
        )
    check_is_fitted(model)
    sentences = [
        f"{_to_what(model)} fitted {_described(model)}.",
        *_known(model),
        *_found(model),
        *([] if choice is None else [_compared(choice)]),
        *([] if selection is None else [_chosen(selection)]),
        *_how(model, model if selection is None else selection.estimator),
        *_noise(model),
        *([] if verdict is None else verdict.sentences),
        _with_what(model),
    ]
    return "\n".join([" ".join(sentences), *(f"- {reference}." for reference in dict.fromkeys(_references(model)))])


def _entry(model: Any) -> Described:
    """The description of a recorded model; a class of the user's own is named, and what it is derived from."""
    spec, own = spec_of(type(model)), type(model).__name__
    if spec is None:
        return Described(f"{own}{{with_components}}")
    known = _MODELS[spec.name]
    is_derived = own != spec.class_name
    return known._replace(words=f"{own}, derived from {spec.class_name},{{with_components}}") if is_derived else known


def _described(model: Any) -> str:
    return _entry(model).words.format(**_words(model))


def _found(model: Any) -> Iterator[str]:
    if _entry(model).found:
        yield _entry(model).found.format(**_words(model))


def _references(model: Any) -> Iterator[str]:
    """Of the model, and of those that it is made of."""
    if _entry(model).reference:
        yield _entry(model).reference
    for inner in _made_of(model):
        yield from _references(inner)


def _made_of(model: Any) -> list[Any]:
    abilities = abilities_of(model)
    members = list(model.members_.values()) if Ability.MEMBERS in abilities else []
    return [*members, model.estimator_] if Ability.VISITS in abilities else members


def _words(model: Any) -> dict[str, Any]:
    """What sentences may name: what the fit has found and, of what it doesn't keep, parameters."""
    abilities = abilities_of(model)
    spec = spec_of(type(model))
    values = dict(model.get_params(deep=False))
    values |= {name: vars(model).get(f"{name}_", values.get(name)) for name in ("ridge", "smoothing")}
    smoothing = values["smoothing"]
    values["likelihood"] = "maximum likelihood" + (f" with a smoothing of {smoothing:g}" if smoothing else "")
    K = _number_fitted(model, abilities)
    if K is not None:
        values |= {f"{noun}s": counted(K, noun) for noun in ("component", "factor", "source")}
    values["with_components"] = "" if K is None else f" with {counted(K, 'component')}"
    values["inference"] = _INFERENCE.get("" if spec is None else spec.name, {}).get(values.get("inference", ""))
    values["at_most"] = "" if values["inference"] == "maximum likelihood" else "at most "
    if Ability.FACTORS in abilities:
        values["factors_found"] = counted(model.n_components_, "factor")
    if Ability.MEMBERS in abilities:
        made = counted(len(model.members_), "model")
        held_out = "weighted by how well they predict held-out cells" if model.n_hidden_ else "weighted equally"
        values |= {"members": f"{made} ({_members(model)})", "weighted": held_out}
    if Ability.SEGMENTS in abilities:
        values["segments"] = counted(len(model.segments_), "segment")
    if Ability.CLUSTERS in abilities:
        values |= _of_clusters(model)
    if Ability.VISITS in abilities:
        values["estimator"] = _described(model.estimator_)
        values["missed"] = "because they are few" if model.abundance_share_ >= 0.5 else "wherever they are"
    return values


def _members(model: Any) -> str:
    """Those with a say and their weights, then the others; equal weights are not told."""
    weights = dict(sorted(zip(model.members_, model.member_weights_, strict=True), key=lambda pair: -pair[1]))
    if not model.n_hidden_:
        return ", ".join(weights)
    first = [f"{name} {weight:.2f}" for name, weight in weights.items() if weight >= HAS_A_SAY]
    others = ", ".join(name for name, weight in weights.items() if weight < HAS_A_SAY)
    below = [f"with weights below {HAS_A_SAY}: {others}"] if others else []
    return "; ".join([", ".join(first), *below] if first else below)


def _number_fitted(model: Any, abilities: frozenset[Ability]) -> int | None:
    """How many components, sources or factors were fitted, whatever the parameter says by now."""
    if Ability.FACTORS in abilities:  # those that it began with
        tried = model.sizes_["n_components"].max() if len(model.sizes_) else 0
        return max(int(tried), model.n_components_ + len(model.discards_))
    if Ability.COMPONENTS in abilities:
        return len(model.components_)
    if Ability.MIXING in abilities and Ability.CLUSTERS not in abilities:
        return int(model.mixing_.shape[1])
    return None


def _of_clusters(model: Any) -> dict[str, str]:
    numbers = [str(n) for n in model.n_sources_]
    together = f"{', '.join(numbers[:-1])} and {numbers[-1]}" if len(numbers) > 1 else numbers[0]
    return {
        "first_clusters": counted(model.n_clusters, "cluster"),
        "first_sources": counted(model.mixing_.shape[2], "source"),
        "clusters": counted(model.n_clusters_, "cluster"),
        "cluster_sources": f"{together} {plural(int(max(model.n_sources_)), 'source')}",
        "keeps": " and removes those that aren't needed" if model.delete else "",
    }


def _to_what(model: Any) -> str:
    from latentbits.models.view import n_rows

    if Ability.VISITS in abilities_of(model):
        sites, species = model.survey_.n_visits.shape
        visits = f"up to {counted(int(model.survey_.n_visits.max()), 'visit')}"
        return f"To {counted(sites, 'site')} with {visits} and {species} species we"
    sizes = [(n_rows(model), "row"), (getattr(model, "n_features_in_", None), "column")]
    found = [counted(n, what) for n, what in sizes if n is not None]
    return f"To {' and '.join(found)} we" if found else "We"


def _how(model: Any, given: Any) -> Iterator[str]:
    """Restarts or chains, and the seed that the user has `given`; of a selection that may be the selection's."""
    from latentbits.models.view import largest_r_hat, n_agreeing

    abilities = abilities_of(model)
    inner = given.estimator_ if Ability.VISITS in abilities_of(given) else given
    parameters = inner.get_params(deep=False)
    seed = parameters.get("random_state")
    from_seed = "" if given is not model and seed is None else f" ({_seed(seed)})"
    made = len(model.restarts_) if Ability.RESTARTS in abilities else 0
    if Ability.CHAINS in abilities and model.r_hat_ is not None:
        yield f"Of {counted(made, 'chain')}{from_seed} the largest R-hat was {largest_r_hat(model):.3f}."
    elif made == 1:
        yield f"There was one restart{from_seed}."
    elif made:
        yield (
            f"The best of {made} restarts{from_seed} was kept; {n_agreeing(model)} came within 0.01 % of its objective."
        )
    elif "random_state" in parameters:
        yield f"Random numbers came from a generator{from_seed}."


def _known(model: Any) -> Iterator[str]:
    """What was known of the rows beside their cells, where the model uses it."""
    inner = model.estimator_ if Ability.VISITS in abilities_of(model) else model
    facts = inner._facts if Ability.KNOW_ROWS in abilities_of(inner) else None
    if facts is None:
        return
    roles = {
        "covariate": [*facts.numbers, *facts.categories],
        "coordinate": facts.coordinate_names,
        "effort": [facts.effort_name] if facts.effort_name else [],
    }
    told = [f"{plural(len(names), role)} {', '.join(names)}" for role, names in roles.items() if names]
    yield f"It also used what was known of the rows: {'; '.join(told)}."


def _compared(choice: Mapping[str, Any]) -> str:
    """How `choose` has chosen, and which part of its rule has decided."""
    if choice["is_best"]:
        decided = "the one that predicts them best, as no simpler one came within one standard error of it"
    else:
        decided = "the simplest within one standard error of the one that predicts them best"
    return f"Model and number of components were chosen among {choice['tried']} models by held-out cells: {decided}."


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
    kinds = [str(kind) for kind in model.phantoms_] if Ability.DENOISE in abilities_of(model) else []
    if "white" in kinds or "black" in kinds:
        found = [f"{kinds.count(kind)} {kind}" for kind in ("white", "black") if kind in kinds]
        yield f"Components that cause zeros (white) or ones (black) only were taken for noise: {' and '.join(found)}."


def _with_what(model: Any) -> str:
    from latentbits.version import __version__

    return f"All computations were made with latentbits {__version__} ({type(model).__name__}) in Python {_python()}."


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
