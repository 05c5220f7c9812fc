"""The estimators that every contract is tried on. A new model adds one entry."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import betaln, xlogy

from latentbits import (
    NMF,
    PLSA,
    AspectBernoulli,
    BernoulliMixture,
    BernoulliNMF,
    BetaICA,
    FalseZeros,
    FastICA,
    IndependentBernoulli,
    IsingModel,
    LinearAutoencoder,
    LogisticPCA,
    ProbitFactors,
    RowColumnBernoulli,
    simulate,
)
from latentbits.models.abilities import Ability
from latentbits.models.spec import spec_of
from tests.reference import aspect, conditional, hidden_groups, independent, mixture

STRICT = "feeds values other than 0 and 1, which a strict model refuses"


@dataclass(frozen=True)
class Contract:
    """What the contracts need to know of a model.

    make : parameters -> estimator, with few restarts and a fixed seed unless the parameters say otherwise
    simulate : (n_rows, seed) -> truth with X, weights, components; well separated, so that the optimum is
        found
    score_samples : (fitted model, X) -> log likelihoods by enumeration or plain loops
    one_component : (ones, zeros of each column) -> the only component and the objective, in closed form
    has : what more can be said of the model, for the contracts marked `needs`:
        "simplex" (weights of a row sum to 1, components are probabilities), "mirror" (swapping 0 and 1 turns H into
        1 - H), "sample_weight", "fractional weights" (of rows), "phantoms", "closed form" (of one component),
        "likelihood" (score, aic, bic), "truth" (simulated components come back), "climb" (the history has every pass),
        "one optimum" (two climbs that differ by rounding end at the same place), "one answer" (without random starts:
        the model is a function of the table); "components" (a number of them can be
        given), "coordinates" (rows have weights on components), "restarts" and "runs out" (of max_iter) are added from
        the model's record
    lacks : what the record says, but isn't so of this variant
    not_binary : scikit-learn's checks that feed other values than 0 and 1
    variant : parameters that tell this entry from others of its class
    excused : scikit-learn's checks that the model fails, with the reason
    sparse_rounding : how far fits to sparse and dense data may differ, relatively: 0 where both sum in the same order;
        the mixture's dense sums are BLAS', whose order depends on the processor
    """

    make: Callable[..., Any]
    simulate: Callable[[int, int], Any]
    score_samples: Callable[[Any, np.ndarray], np.ndarray]
    one_component: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, float]] | None = None
    has: frozenset[str] = frozenset()
    not_binary: frozenset[str] = field(default_factory=frozenset)
    variant: dict[str, Any] = field(default_factory=dict)
    excused: dict[str, str] = field(default_factory=dict)
    sparse_rounding: float = 0.0
    lacks: frozenset[str] = frozenset()

    def make_with(self, **parameters: Any) -> Any:
        """An estimator with those of the parameters that it has."""
        known = self.make().get_params()
        return self.make(**{name: value for name, value in parameters.items() if name in known})

    @staticmethod
    def answer(model: Any, X: Any) -> np.ndarray:
        """What a fitted model says of each row: its weights, or the probabilities of its cells."""
        return model.transform(X) if hasattr(model, "transform") else model.reconstruct(X)

    @staticmethod
    def learned(model: Any) -> np.ndarray:
        """What a fitted model has learned of the columns."""
        names = ("components_", "couplings_", "member_weights_")
        return next(getattr(model, name) for name in names if hasattr(model, name))

    @property
    def abilities(self) -> frozenset[str]:
        """What `has` says, and what the model's record says."""
        spec = spec_of(type(self.make()))
        known = {
            "components": spec.has_components,
            "coordinates": Ability.ROW_WEIGHTS in spec.abilities,
            "restarts": spec.has_restarts,
            "runs out": "max_iter" in spec.parameters,
        }
        return (self.has | {ability for ability, is_there in known.items() if is_there}) - self.lacks

    def __repr__(self) -> str:
        return "-".join([type(self.make()).__name__, *map(str, self.variant.values())])


CLIMBS = frozenset({"climb", "sample_weight", "fractional weights", "likelihood"})
MIXTURE = CLIMBS | {"simplex", "mirror", "closed form", "truth", "one optimum"}
ASPECT = MIXTURE | {"phantoms"}
CONDITIONAL = frozenset({"sample_weight", "fractional weights", "likelihood", "one answer"})
SAMPLED = frozenset({"sample_weight", "likelihood", "simplex", "truth", "phantoms"})

CONTINUOUS = frozenset(
    {
        "check_all_zero_sample_weights_error",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimator_sparse_tag",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_n_iter",
        "check_transformer_preserve_dtypes",
    }
)


MANY_OPTIMA = {
    f"check_sample_weight_equivalence_on_{form}_data": "equal up to rounding in each round, which may grow: many optima"
    for form in ("dense", "sparse")
}
SHUFFLED = {
    f"check_sample_weight_equivalence_on_{form}_data": "rows in another order are other samples of the same posterior"
    for form in ("dense", "sparse")
}
NO_BLOCKS = dict.fromkeys(
    ("check_fit_score_takes_y", "check_n_features_in_after_fitting"),
    "calls partial_fit, which chains refuse with a sentence",
)
TRANSFORMERS = frozenset(name for name in CONTINUOUS if "transformer" in name)
OTHER_CELLS = {
    f"check_sample_weight_equivalence_on_{form}_data": "repeated rows have other cells hidden"
    for form in ("dense", "sparse")
}
NO_CLASSIFIER = {
    f"check_estimator_sparse_{form}": "takes predict_proba for that of a classifier; here it is of cells or components"
    for form in ("array", "matrix")
}
WEIGHTED = frozenset(name for name in CONTINUOUS if "sample_weight" in name)


def _separated(n_rows: int, seed: int) -> simulate.AspectTruth:
    return simulate.aspect_bernoulli(n_rows, 40, 3, concentration=0.3, sharpness=0.1, random_state=seed)


def _empirical_bayes(model: Any, X: np.ndarray) -> np.ndarray:
    return aspect.empirical_bayes(X, model.weights_, model.components_, model.row_weight_)


def _aspect_bernoulli(**parameters: Any) -> AspectBernoulli:
    return AspectBernoulli(**{"n_components": 3, "n_init": 3, "random_state": 0, **parameters})


def _with_noise(kind: type, **variant: Any) -> Contract:
    """Blank and full components beside three others; more components than those that made the data."""

    def make(**parameters: Any) -> Any:
        return kind(**{"n_components": 3, "n_init": 3, "random_state": 0, **variant, **parameters})

    return Contract(make, _separated, _empirical_bayes, None, CLIMBS | {"simplex", "phantoms"}, CONTINUOUS, variant)


def _likeliest(ones: np.ndarray, zeros: np.ndarray) -> tuple[np.ndarray, float]:
    """One component by maximum likelihood: the shares of ones."""
    share = ones / (ones + zeros)
    return share, float(np.sum(xlogy(ones, share) + xlogy(zeros, 1 - share)))


def _beta_posterior(ones: np.ndarray, zeros: np.ndarray) -> tuple[np.ndarray, float]:
    """One component under the prior Beta(1/2, 1/2): the posterior means, and the exact log evidence."""
    mean = (ones + 0.5) / (ones + zeros + 1)
    return mean, float(np.sum(betaln(ones + 0.5, zeros + 0.5) - betaln(0.5, 0.5)))


def _beta_ica(inference: str) -> Contract:
    def make(**parameters: Any) -> BetaICA:
        return BetaICA(**{"n_components": 3, "inference": inference, "n_init": 3, "random_state": 0, **parameters})

    return Contract(make, _separated, _empirical_bayes, _beta_posterior, ASPECT, CONTINUOUS, {"inference": inference})


def _sampled_beta_ica() -> Contract:
    quick = {"n_burn": 100, "n_samples": 60, "thin": 3}

    def make(**parameters: Any) -> BetaICA:
        few = {"n_components": 3, "n_init": 3, "random_state": 0, **quick}
        return BetaICA(**{"inference": "gibbs", **few, **parameters})

    return Contract(
        make,
        _separated,
        _empirical_bayes,
        None,
        SAMPLED,
        CONTINUOUS,
        {"inference": "gibbs"},
        {**SHUFFLED, **NO_BLOCKS},
        lacks=frozenset({"runs out"}),
    )


def _probit_factors(**variant: Any) -> Contract:
    def make(**parameters: Any) -> ProbitFactors:
        few = {"n_components": 3, "n_init": 3, "n_burn": 60, "n_samples": 40, "thin": 2, "random_state": 0}
        known = ProbitFactors().get_params()  # of what climbs there is neither tol nor max_iter
        return ProbitFactors(
            **{name: value for name, value in {**few, **variant, **parameters}.items() if name in known}
        )

    return Contract(
        make,
        _separated,
        _of_probabilities,
        None,
        frozenset({"sample_weight", "likelihood"}),
        CONTINUOUS,
        variant,
        SHUFFLED,
        lacks=frozenset({"runs out"}),
    )


def _classes(n_rows: int, seed: int) -> simulate.AspectTruth:
    """Rows with (nearly) a single cause each."""
    return simulate.aspect_bernoulli(n_rows, 40, 3, concentration=1e-3, sharpness=0.1, random_state=seed)


def _bernoulli_mixture(**parameters: Any) -> BernoulliMixture:
    return BernoulliMixture(**{"n_components": 3, "n_init": 3, "random_state": 0, **parameters})


def _smoothed(ones: np.ndarray, zeros: np.ndarray, smoothing: float = 0.3) -> tuple[np.ndarray, float]:
    """One component with `smoothing` ones and zeros added to the counts."""
    share = (ones + smoothing) / (ones + zeros + 2 * smoothing)
    return share, float(np.sum(xlogy(ones + smoothing, share) + xlogy(zeros + smoothing, 1 - share)))


def _of_probabilities(model: Any, X: np.ndarray) -> np.ndarray:
    """log mean_n p(x | training row n) from the model's own probabilities, in plain loops."""
    ones, zeros = (np.exp(part) for part in model._log_probabilities(model._training_coordinates))
    weight = model.row_weight_ / model.row_weight_.sum()
    out = []
    for row in np.asarray(X, float):
        total = 0.0
        for share, p, q in zip(weight, ones, zeros, strict=True):
            seen = ~np.isnan(row)
            total += share * np.prod(np.where(row[seen] == 1, p[seen], q[seen]))
        out.append(np.log(total))
    return np.array(out)


def _ising(**parameters: Any) -> IsingModel:
    return IsingModel(**{"tol": 1e-12, **parameters})


def _factorisation(
    kind: type, has: frozenset[str], not_binary: frozenset[str], excused: Any = None, **quicker: Any
) -> Contract:
    def make(**parameters: Any) -> Any:
        return kind(**{"n_components": 3, "n_init": 3, "random_state": 0, **quicker, **parameters})

    return Contract(make, _separated, _of_probabilities, None, has, not_binary, excused=excused or {})


def _false_zeros() -> Contract:
    """A small ensemble: the members have contracts of their own."""
    variant = {"n_folds": 2, "members": ["aspects_2", "ising", "linear_autoencoder"]}

    def make(**parameters: Any) -> FalseZeros:
        return FalseZeros(**{"random_state": 0, **variant, **parameters})

    return Contract(
        make,
        _separated,
        hidden_groups.scores,
        None,
        frozenset({"likelihood"}),
        CONTINUOUS - TRANSFORMERS,
        variant,
        {**OTHER_CELLS, **NO_CLASSIFIER},
        sparse_rounding=1e-9,
    )


CONTRACTS = [
    Contract(_aspect_bernoulli, _separated, _empirical_bayes, _likeliest, ASPECT, CONTINUOUS),
    _factorisation(LogisticPCA, CLIMBS, CONTINUOUS, ridge=0.1),
    replace(
        # No "climb": rows in another order have other cells hidden, and so another ridge; the entry above has it.
        _factorisation(LogisticPCA, frozenset({"likelihood"}), CONTINUOUS, OTHER_CELLS),
        variant={"ridge": None},
    ),
    _factorisation(BernoulliNMF, CLIMBS, CONTINUOUS, MANY_OPTIMA, tol=1e-4),
    _factorisation(PLSA, CLIMBS | {"simplex"}, CONTINUOUS),
    _factorisation(NMF, frozenset({"likelihood"}), CONTINUOUS - WEIGHTED),
    _factorisation(FastICA, frozenset({"likelihood"}), CONTINUOUS - WEIGHTED),
    Contract(
        _bernoulli_mixture,
        _classes,
        mixture.log_likelihoods,
        _smoothed,
        MIXTURE,
        CONTINUOUS,
        excused=NO_CLASSIFIER,
        sparse_rounding=1e-9,
    ),
    Contract(
        IndependentBernoulli,
        _separated,
        independent.log_likelihoods,
        _smoothed,
        frozenset({"sample_weight", "fractional weights", "likelihood", "simplex", "one answer"}),
        CONTINUOUS - {"check_transformer_n_iter"},
        sparse_rounding=1e-12,
    ),
    Contract(
        RowColumnBernoulli,
        _separated,
        _of_probabilities,
        None,
        frozenset({"sample_weight", "fractional weights", "likelihood", "one answer"}),
        CONTINUOUS - {"check_transformer_n_iter"},
    ),
    Contract(_ising, _separated, conditional.ising_scores, None, CONDITIONAL, CONTINUOUS - TRANSFORMERS),
    Contract(
        LinearAutoencoder,
        _separated,
        conditional.linear_scores,
        None,
        CONDITIONAL,
        CONTINUOUS - TRANSFORMERS,
        sparse_rounding=1e-12,
    ),
    _beta_ica("vb"),
    _beta_ica("em"),
    _with_noise(AspectBernoulli, noise="both"),
    _with_noise(BetaICA, inference="em", noise="both", noise_rate=None),
    _sampled_beta_ica(),
    _probit_factors(),
    _probit_factors(row_effects=False),
    _false_zeros(),
]
