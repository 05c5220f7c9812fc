"""The estimators that every contract is tried on. A new model adds one entry."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from latentbits import AspectBernoulli, simulate
from tests.reference import aspect

STRICT = "feeds values other than 0 and 1, which a strict model refuses"


@dataclass(frozen=True)
class Contract:
    """What the contracts need to know of a model.

    make : parameters -> estimator, with few restarts and a fixed seed unless the parameters say otherwise
    simulate : (n_rows, seed) -> truth with X, weights, components; well separated, so that the optimum is
        found
    score_samples : (fitted model, X) -> log likelihoods by enumeration or plain loops
    not_binary : scikit-learn's checks that feed other values than 0 and 1
    """

    make: Callable[..., Any]
    simulate: Callable[[int, int], Any]
    score_samples: Callable[[Any, np.ndarray], np.ndarray]
    not_binary: frozenset[str] = field(default_factory=frozenset)

    def __repr__(self) -> str:
        return type(self.make()).__name__


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


def _aspect_bernoulli(**parameters: Any) -> AspectBernoulli:
    return AspectBernoulli(**{"n_components": 3, "n_init": 3, "random_state": 0, **parameters})


def _separated(n_rows: int, seed: int) -> simulate.AspectTruth:
    return simulate.aspect_bernoulli(n_rows, 40, 3, concentration=0.3, sharpness=0.1, random_state=seed)


CONTRACTS = [
    Contract(
        make=_aspect_bernoulli,
        simulate=_separated,
        score_samples=lambda model, X: aspect.empirical_bayes(
            X, model.weights_, model.components_, model.row_weight_
        ),
        not_binary=CONTINUOUS,
    )
]
