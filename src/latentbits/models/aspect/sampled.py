"""An aspect model that is sampled: chains in place of climbs, and answers that are means over the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.cell_sums import safe_log
from latentbits.fitting.chains import LEAST_DRAWS, Length
from latentbits.fitting.restarts import Restart, Runner
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models.aspect import Inference
from latentbits.models.aspect.base import AspectModel, Components
from latentbits.models.aspect.evidence import Evidence, integrate
from latentbits.models.aspect.gibbs import Sampler, solve_sampled_weights
from latentbits.models.aspect.noise import NO_NOISE, NoiseComponents
from latentbits.models.aspect.phantoms import CONTENT
from latentbits.models.aspect.posterior import Posterior, chain_components, pool
from latentbits.models.aspect.variational import Prior
from latentbits.models.sampling import chains_agree, repeated_cells
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import check_number
from latentbits.wording import counted

if TYPE_CHECKING:
    from latentbits.models.aspect.aspect_rows import AspectRows

__all__ = ["SampledModel"]

INSTEAD = 'fit with inference="vb"'
"""What weights that can't be sampled are advised to."""

RUNS, LEAST_SWEEPS = 2, 30
"""Of the integration over temperatures: runs up and down, and sweeps without which batches would be single sweeps."""


class SampledModel(AspectModel):
    """An aspect model that may have posterior samples; then a row's coordinates are S x K, weights for each sample."""

    inference: Inference
    alpha: float
    beta: float
    gamma: float
    n_samples: int
    n_burn: int
    thin: int
    _samples: Posterior | None

    # ---- fitting -------------------------------------------------------------------------------------------------

    @property
    def _prior(self) -> Prior:
        return Prior(self.alpha, self.beta, self.gamma)

    def _runner_maker(
        self, data: BinaryData, row_weight: np.ndarray, noise: NoiseComponents = NO_NOISE
    ) -> Callable[[Workers], Runner[Any]]:
        if self.inference != "gibbs":
            return super()._runner_maker(data, row_weight, noise)
        if not isinstance(data, BinaryData):
            raise DataError('chains are not sampled on a cluster (--cluster); leave it out, or use inference="vb"')
        for given in ("batch_size", "warm_start"):
            if getattr(self, given):
                self._check_batches(given)
        if self.checkpoint is not None:
            raise DataError('chains keep no checkpoint; leave it out (--checkpoint), or fit with inference="vb"')
        if noise.kinds and noise.rate is None:
            raise DataError('sampling learns no noise_rate; give a number such as 0.001, or fit with inference="vb"')
        length = Length(self.n_burn, self.n_samples, self.thin)
        fixed = noise.after(np.full((self.n_components, data.shape[1]), np.nan))
        sampler = Sampler(repeated_cells(data, row_weight, INSTEAD), len(fixed), self._prior, length, fixed)
        return lambda workers: sampler.run

    def _check_batches(self, given: str) -> None:
        if self.inference == "gibbs":
            raise DataError(f'chains sample the causes of all rows together, without {given}; use inference="vb"')

    def _runs_with(
        self, name: str, data: BinaryData, row_weight: np.ndarray, rng: np.random.Generator
    ) -> tuple[Restart[Any], list[Restart[Any]]]:
        """Without chains that were interrupted before they had samples to be compared: burn-in is no posterior."""
        best, runs = super()._runs_with(name, data, row_weight, rng)
        if self.inference != "gibbs":
            return best, runs
        enough = self.n_burn + self.thin * min(LEAST_DRAWS, self.n_samples)
        sampled = [run for run in runs if run.n_iter >= enough] or runs
        return max(sampled, key=lambda run: run.objective), sampled

    def _ran_out(self, run: Restart[Any]) -> bool:
        """Chains have a length of their own, not `max_iter`."""
        return self.inference != "gibbs" and super()._ran_out(run)

    @property
    def _if_interrupted(self) -> str:
        return "these are the samples of {} chains so far" if self.inference == "gibbs" else super()._if_interrupted

    def _keep(self, state: Any, row_weight: np.ndarray, noise: NoiseComponents = NO_NOISE) -> Components:
        if self.inference != "gibbs":
            return super()._keep(state, row_weight, noise)
        return self._with_kinds(chain_components(state, self._prior, len(noise)), noise)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        if self.inference != "gibbs":
            super()._adopt(best, runs)
            return
        number = next(n for n, run in enumerate(runs) if run is best)
        n_noise = len(best.kept.mean) - self.n_components
        pooled, posterior = pool([run.state for run in runs], number, self._prior, n_noise)
        pooled = pooled._replace(kinds=best.kept.kinds)  # noise components are the last of each chain
        super()._adopt(replace(best, kept=pooled), runs)
        self._samples = posterior.take(np.argsort(-pooled.share, kind="stable"))
        self.converged_ = chains_agree(posterior.largest_r_hat) and bool(best.converged)

    def _set_components(self, components: Components, runs: Sequence[Restart[Any]]) -> None:
        self._samples = None
        super()._set_components(components, runs)

    def _row_solver(self) -> RowSolver:
        if self._posterior is None:
            return super()._row_solver()
        return partial(solve_sampled_weights, H=self._posterior.H, gamma=self.gamma)

    # ---- answers -------------------------------------------------------------------------------------------------

    @property
    def _posterior(self) -> Posterior | None:
        return getattr(self, "_samples", None)  # models stored by earlier versions have no such attribute

    @property
    def r_hat_(self) -> dict[str, np.ndarray] | None:
        """Rank-normalised split R-hat of chains, by the name of the quantity."""
        return None if self._posterior is None else self._posterior.r_hat

    @property
    def ess_(self) -> dict[str, np.ndarray] | None:
        """Bulk effective sample sizes, by the name of the quantity."""
        return None if self._posterior is None else self._posterior.ess

    def _as_weights(self, coordinates: np.ndarray) -> np.ndarray:
        if coordinates.ndim == 2:
            return super()._as_weights(coordinates)
        mean = coordinates.mean(axis=1, dtype=np.float64)
        return mean / mean.sum(axis=1, keepdims=True)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        if W.ndim == 2:
            return super()._probabilities(W)
        return np.clip(self._mixed(W), 0.0, 1.0)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if W.ndim == 2:
            return super()._log_probabilities(W)
        P = self._mixed(W)
        return safe_log(P), safe_log(1 - P)

    def _mixed(self, W: np.ndarray) -> np.ndarray:
        """The mean over samples of weights times components: N x S x K and S x K x D to N x D."""
        assert self._posterior is not None
        H = self._posterior.H
        return W.reshape(len(W), -1).astype(np.float64) @ H.reshape(-1, H.shape[2]).astype(np.float64) / len(H)

    @property
    def _ensemble(self) -> str:
        return super()._ensemble if self._posterior is None else "posterior samples"

    def _members(self, rows: AspectRows) -> Iterator[tuple[Components, np.ndarray, np.ndarray]]:
        """Every sample is a member of the ensemble."""
        posterior = self._posterior
        if posterior is None:
            yield from super()._members(rows)
            return
        is_content = (self.phantoms_ == CONTENT).astype(float)
        for s, H in enumerate(posterior.H):
            yield Components(H, H, 1 - H, self._components.share), rows.coordinates[:, s], is_content

    def _integrated_evidence(self, X: Any, n_sweeps: int) -> Evidence:
        if X is None:
            raise DataError('log_evidence by "ti" samples the causes of the training data again; give them: X')
        check_number("n_sweeps", n_sweeps, least=LEAST_SWEEPS, integer=True)
        data = self._data(X)
        if data.shape[0] != len(self.row_weight_):
            raise DataError(
                f"X has {counted(data.shape[0], 'row')}, but the model was fitted to {len(self.row_weight_)}; "
                "give the training data"
            )
        cells = repeated_cells(data, self.row_weight_, INSTEAD)
        # From the seed of the first start: asking twice gives the same answer, whatever `random_state` is.
        seeds = np.random.default_rng([int(self.restarts_["seed"][0]), len(self.components_)]).integers(
            2**31, size=RUNS
        )
        with Workers(n_workers(self.n_jobs)) as workers:
            return integrate(
                cells,
                len(self.components_),
                self._prior,
                seeds.tolist(),
                n_sweeps,
                workers,
                self._known_components(),
                verbose=bool(self.verbose),
            )

    def _known_components(self) -> np.ndarray:
        """Probabilities of a 1 of the noise components; NaN for the others."""
        kinds = self._components.kinds
        free = np.ones(len(self.components_), dtype=bool) if kinds is None else kinds == CONTENT
        return np.where(free[:, None], np.nan, self.components_)

    def to_arviz(self) -> Any:
        """The samples as ArviZ' InferenceData, for its plots and diagnostics (`inference="gibbs"` only).

        Returns
        -------
        arviz.InferenceData
            With the posterior of "components" (labels aligned) and of "cells", the probabilities of some cells spread
            over the table; and the sample statistic "lp", log p(X | causes). Chains are cut to the shortest.
        """
        check_is_fitted(self)
        if self._posterior is None:
            raise DataError('there are no posterior samples to give to ArviZ; fit with inference="gibbs"')
        try:
            import arviz  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ImportError("to_arviz needs the package arviz; install it (pip install arviz)") from None
        draws = self._posterior.by_chain()
        named = {name: draws[name] for name in ("components", "cells")}
        return arviz.from_dict(posterior=named, sample_stats={"lp": draws["log_likelihood"]})
