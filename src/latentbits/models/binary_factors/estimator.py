"""The estimator of binary factor analysis."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from latentbits.errors import DataError
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models.base import RestartedModel
from latentbits.models.binary_factors import Algorithm, Encoder, Inference, Noise, OneNoise, Update
from latentbits.models.binary_factors.binary_model import (
    EXACT_LIMIT,
    Parameters,
    exact_posterior,
    log_odds,
    n_parameters,
)
from latentbits.models.binary_factors.coding import codes_of, expected_codes, projected, started_mean_field
from latentbits.models.binary_factors.encoders import ENUM_LIMIT, signs
from latentbits.models.binary_factors.gaussian_rival import gaussian_sizes
from latentbits.models.binary_factors.runs import (
    PATH_LIMIT,
    Fitted,
    Found,
    discards_table,
    found_by,
    make_runner,
    scaled,
    shifted,
    sizes_table,
)
from latentbits.models.binary_factors.states import Look, look
from latentbits.models.binary_factors.uncertainty import bootstrap_spreads
from latentbits.numerics import RandomSource, as_generator, check_number

EVEN = 1e-3
"""A factor whose probability is this near to 1/2 has no rarer state."""


NatureKind = Literal["binary", "continuous", "none", "undecided"]


class Nature(NamedTuple):
    """Whether factors are on-off or continuous, as `BinaryFactorAnalysis.nature` returns it.

    Attributes
    ----------
    kind : {"binary", "continuous", "none", "undecided"}
        "binary": on-off factors describe the data better; "continuous": Gaussian factors do; "none": no factor at all;
        "undecided": more Gaussian factors do than on-off ones were tried (`reached_limit_`), or on-off factors do, but
        along none of them rows gather at two states (`looks`).
    advantage : float
        The smallest BIC of Gaussian factors minus that of the binary ones: above 0 binary is better, above 10 clearly.
    n_gaussian : int
        The number of Gaussian factors with the smallest BIC.
    sizes : DataFrame
        Of Gaussian factors: n_components, log_likelihood and bic.
    looks : tuple of str
        What the rows look like along each on-off factor: "two states", "outliers" (it is on in under 5 rows, or 2 %),
        "skewed columns" or "one hump". Empty where Gaussian factors are better.

    Examples
    --------
    >>> from latentbits import BinaryFactorAnalysis, simulate
    >>> X = simulate.binary_factors(200, 8, 2, noise=0.5, random_state=0).X
    >>> nature = BinaryFactorAnalysis(4, random_state=0).fit(X).nature(X)
    >>> nature.kind, nature.n_gaussian, nature.advantage > 10
    ('binary', 2, True)
    """

    kind: NatureKind
    advantage: float
    n_gaussian: int
    sizes: pd.DataFrame
    looks: tuple[Look, ...] = ()


class BinaryFactorAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RestartedModel):
    """Binary factor analysis: continuous rows as a sum of causes that are on or off, plus noise.

    ``x = mixing_ @ y + intercepts_ + noise`` with every y_i either -1 or 1, and Gaussian noise with a variance of its
    own in each variable. Unless `inference="em"`, the number of factors is estimated: start with more than expected;
    those that the data do not need are discarded. If they need none, `n_components_` is 0, the model is a Gaussian, and
    every method still works (codes have no columns).

    Parameters
    ----------
    n_components : int, default=5
        Number of factors to start with; for "em" the number of the fitted model.
    inference : {"auto", "byy", "vb", "em"}, default="auto"
        - "auto": harmony learning ("byy") runs down from `n_components` to no factor at all; its state at each number
          is refined by maximum likelihood ("em"), and the number with the smallest BIC is kept. The best of the four at
          finding the number. With more than 12 factors it is the same as "byy", as "em" would take too long.
        - "byy": Bayesian Ying-Yang harmony learning. Every row gets one code, and the parameters maximise the harmony
          H, the joint log likelihood of rows and codes (plus the log prior). Fast, and good at finding the number.
        - "vb": variational Bayes with a factorised posterior of codes and parameters; always with priors.
        - "em": maximum likelihood with exact posteriors, without priors; no factor is discarded. For `bic`. Up to 16
          factors, because it sums over all codes.
    noise : {"auto", "columns", "equal"}, default="auto"
        - "columns": each column has a noise variance of its own, and the columns' units do not matter.
        - "equal": all have the same. That has fewer parameters, and finds the number of factors more often when there
          are at most 50 rows; but where columns differ in noise it takes the difference for factors.
        - "auto": fits with "equal" and, if column variances would describe the result better, with "columns" too; the
          smaller BIC is kept. With more than 16 factors, which have no exact likelihood, it is "columns".
    algorithm : {"refined", "published"}, default="refined"
        "published" runs Algorithm 1 of the paper as it is printed, to be compared with: one start, equal noise,
        discards inside the loop with `delta` 2, by the gradient; `inference`, `noise`, `update` and `n_init` then have
        no effect. It finds the number of factors less often.
    encoder : {"round", "cdual", "greedy", "enum"}, default="round"
        How "auto" and "byy" find a row's code while learning (see `solve_bqp`). The less exact ones select the number
        of factors better, and are faster.
    priors : bool, default=True
        Whether "auto" and "byy" use weak priors, which favour short columns of the mixing matrix and probabilities
        near 1/2. They help when there are few rows.
    update : {"closed", "gradient"}, default="closed"
        How "auto" and "byy" update the parameters: to the maximum given the codes, or by a gradient step.
    delta : float or None, default=None
        A factor of "byy" or "vb" is discarded when its column of the mixing matrix is shorter than `delta` standard
        deviations of the noise. None stands for 1.25 times the length that pure noise would give,
        sqrt(2 / pi) (1 + sqrt(n_features / n_rows)), so for about 1 with many rows; for "byy" with a noise for each
        column, where noise can give more, for about 1.5. The paper's value is 2. With 0, only factors that are on, or
        off, in fewer than 5 rows (and in less than a fifth of all rows) are discarded.
    n_init : int, default=5
        Number of random starts; the one with the highest objective is kept. "vb" and "em" start from the codes of a
        quick fit by least squares and rounding, whose own start is random.
    max_iter : int, default=2000
        Largest number of passes over the data per start.
    tol : float, default=1e-6
        A start has converged when a pass (three of them for "em") raises the objective by less than this per cell. For
        "byy" the codes must be unchanged too; it also ends after ten passes without a new maximum.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    mixing_ : ndarray of shape (n_features, n_components_)
        What each factor adds when on and subtracts when off; the strongest first. Which of a factor's two states
        is called on is a convention: it is the rarer one (if both are equally frequent, the one that adds to the
        variable with the entry that is largest in size).
    intercepts_ : ndarray of shape (n_features,)
        The constant c of all rows. (The data's mean is this plus ``mixing_ @ (2 * factor_probabilities_ - 1)``.)
    noise_precision_ : ndarray of shape (n_features,)
        One over the variance of the noise of each column.
    factor_strengths_ : ndarray of shape (n_components_,)
        Length of each factor's column of `mixing_`, each entry in standard deviations of its column's noise.
    factor_probabilities_ : ndarray of shape (n_components_,)
        Probability of each factor being on.
    n_components_ : int
        Number of factors that were not discarded.
    reached_limit_ : bool
        Whether all factors of the start were kept, so that there may be more: then fit with a larger `n_components`.
    discards_ : DataFrame
        One line for each factor that the best start discarded: iteration (pass), factor (its number at the start),
        reason ("weak", "constant" or, for "auto", "bic"), norm (length of its column), probability.
    sizes_ : DataFrame
        For "auto", of every number of factors (n_components) the best log_likelihood of all starts and its bic; empty
        for the others.
    objective_ : float
        Objective of the best start: minus half the BIC for "auto", H for "byy", the evidence bound for "vb", the log
        likelihood for "em". Starts of "byy" or "vb" that end with different numbers of factors are compared by it,
        which is valid because weak factors have been discarded (with ``delta=0`` and priors, H rewards columns of
        zeros).
    objective_history_ : ndarray of shape (n_iter_,)
        The best start's objective after each pass. It never falls for "auto" (the best so far) and "em"; for "vb", and
        "byy" with "enum", only where factors are discarded; the other encoders may lower H.
    restarts_ : DataFrame
        One line per start: seed, objective, n_iter, converged and n_components.
    restart_histories_ : list of ndarray
        The objective after each pass of every start, in the order of `restarts_`.
    n_iter_ : int
        Passes over the data made by the best start.
    converged_ : bool
        Whether the best start converged; False if it was stopped by `max_iter` or interrupted.
    n_rows_ : int
        Number of rows of the training data.
    noise_ : {"columns", "equal"}
        Which of the two was fitted.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.

    Notes
    -----
    Before the fit X is centred, and each column is divided by its standard deviation (with equal noise all by one
    number); results are given in the units of X. So the fit is equivariant to shifts and changes of unit, and the weak
    priors mean the same for all data. A column that is known to a step h, such as whole numbers, has at least the
    noise of rounding, h^2 / 12.

    Cells may be missing (NaN), in the fit and in new rows, but for "vb". The likelihood of a row is that of the cells
    that are there, and so are its codes; where whole rows are missing, their codes are those that are most probable
    beforehand. Nothing is filled in. That the other cells of a row don't say why one is missing is assumed.

    References
    ----------
    Tu and Xu, Learning binary factor analysis with automatic model selection, Neurocomputing 2014.

    Examples
    --------
    >>> from latentbits import BinaryFactorAnalysis, simulate
    >>> truth = simulate.binary_factors(200, 10, 3, noise=0.25, random_state=0)
    >>> model = BinaryFactorAnalysis(5, random_state=0).fit(truth.X)
    >>> model.n_components_
    3
    >>> model.transform(truth.X[:2]).shape
    (2, 3)
    >>> int(model.sizes_["bic"].argmin())
    3
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        inference: Inference = "auto",
        noise: Noise = "auto",
        algorithm: Algorithm = "refined",
        encoder: Encoder = "round",
        priors: bool = True,
        update: Update = "closed",
        delta: float | None = None,
        n_init: int = 5,
        max_iter: int = 2000,
        tol: float = 1e-6,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.inference = inference
        self.noise = noise
        self.algorithm = algorithm
        self.encoder = encoder
        self.priors = priors
        self.update = update
        self.delta = delta
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # codes are int8, whatever X is
        tags.input_tags.allow_nan = self._learner != "vb"
        return tags

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Estimate the factors and, except for "em", their number.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers; NaN where a cell is missing, but for "vb".
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        data = self._data(X, reset=True)
        self.n_rows_ = len(data)
        best = self._fitted(data, "columns" if self._noise == "columns" else "equal")
        if self._noise == "auto" and best.gains_by_columns(data):
            best = min(best, self._fitted(data, "columns"), key=Fitted.bic)
        self._adopt_run(best.run, best.runs)
        self.restarts_["n_components"] = [run.kept[0].theta.A.shape[1] for run in best.runs]
        stops = [run.kept[1].stops for run in best.runs if self._learner == "auto"]
        self.sizes_ = sizes_table(stops, best.rows.shift)
        self.noise_ = best.noise
        self._adopt(best.found, best.rows.centre, best.rows.scale)
        return self

    def _fitted(self, data: np.ndarray, noise: OneNoise) -> Fitted:
        """All starts with a noise for each column, or with one for all."""
        rows = scaled(data, noise)
        settings = self._learner, self.encoder, self.update, self.priors, self.delta
        runner = make_runner(rows.Z, self.n_components, *settings, rows.limit)
        keep = partial(found_by, self._learner)
        n_init = 1 if self._learner == "published" else None
        n_cells = float(np.sum(~np.isnan(rows.Z)))
        best, runs = self._best_run(
            runner, n_cells=n_cells, keep=lambda outcome: (keep(outcome), outcome), n_init=n_init
        )
        return Fitted(noise, rows, shifted(best, rows.shift), [shifted(run, rows.shift) for run in runs])

    @property
    def _noise(self) -> Noise:
        if self.algorithm == "published":
            return "equal"
        # Without a likelihood there is nothing to choose by.
        return "columns" if self.noise == "auto" and self.n_components > EXACT_LIMIT else self.noise

    @property
    def _learner(self) -> str:
        if self.algorithm == "published":
            return "published"
        return "byy" if self.inference == "auto" and self.n_components > PATH_LIMIT else self.inference

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._learner == "em" and self.n_components > EXACT_LIMIT:
            raise DataError(
                f'n_components={self.n_components} is too many for inference="em", which sums over all 2^m codes; '
                f'use at most {EXACT_LIMIT}, or inference="byy" or "vb"'
            )
        if self._learner in ("auto", "byy", "published") and self.encoder == "enum" and self.n_components > ENUM_LIMIT:
            raise DataError(
                f'n_components={self.n_components} is too many for encoder="enum", which tries all 2^m codes; '
                f"use at most {ENUM_LIMIT}, or another encoder"
            )

    def _data(self, X: Any, *, reset: bool = False) -> np.ndarray:
        data = self._numbers_of(X, reset=reset)
        missing = np.isnan(data)
        if missing.any() and self._learner == "vb":
            i, j = (int(index) for index in np.argwhere(missing)[0])
            raise DataError(
                f'X[{i}, {j}] is NaN, but inference="vb" takes no missing cells; use "auto", or leave out such rows'
            )
        return data

    def _adopt(self, found: Found, centre: np.ndarray, scale: np.ndarray) -> None:
        """Take over a run: back to the units of X, factors by their strength, signs chosen."""
        A, c, phi, beta = found.theta
        order = np.argsort(-found.theta.lengths, kind="stable")
        A = A[:, order]
        beta = beta[order]
        largest = A[np.abs(A).argmax(axis=0), np.arange(len(order))]
        sign = np.where(np.abs(beta - 0.5) < EVEN, signs(largest), signs(0.5 - beta)).astype(float)
        self.mixing_ = A * sign * scale[:, None]
        self.intercepts_ = c * scale + centre
        self.noise_precision_ = np.broadcast_to(phi, len(scale)) / scale**2
        self.factor_probabilities_ = np.where(sign > 0, beta, 1 - beta)
        self.n_components_ = len(order)
        self.discards_ = discards_table(found.discards, scale)
        self._interaction = found.Q[np.ix_(order, order)] * np.outer(sign, sign)
        self._offset = found.offset[order] * sign

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def reached_limit_(self) -> bool:
        """Whether all factors of the start were kept, so that there may be more."""
        return self._learner != "em" and self.n_components_ == self.n_components

    @property
    def factor_strengths_(self) -> np.ndarray:
        """Length of each column of `mixing_`, each entry in standard deviations of its column's noise."""
        return self._parameters().lengths

    def __getattr__(self, name: str) -> Any:
        if name == "mean_" and "intercepts_" in vars(self):
            warnings.warn("mean_ is called intercepts_ now; the old name will be removed", FutureWarning, stacklevel=2)
            return self.intercepts_
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- codes ---------------------------------------------------------------------------------------------------

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Binary codes of rows, each row on its own.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, with the columns of the fit; NaN where a cell is missing.

        Returns
        -------
        ndarray of int8, shape (n_rows, n_components_)
            -1 for off and 1 for on. For "auto" and "em" the most probable code, for "byy" the code found by `encoder`,
            for "vb" the more probable state of each factor.
        """
        check_is_fitted(self)
        data = self._data(X)
        if self._learner == "vb":
            return signs(self._mean_field(data))
        encoder = self.encoder if self._learner in ("byy", "published") else "enum"
        with Workers(n_workers(self.n_jobs)) as workers:
            return codes_of(self._parameters(), data, encoder, workers)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probability of each factor being on in each row.

        Exact with up to 16 factors, by a sum over all codes, but for "vb". There, and with more factors, the factors of
        a row are taken as independent given the row (mean field, started from a good code), which tends to give
        overconfident probabilities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components_)
            Probabilities.
        """
        check_is_fitted(self)
        data = self._data(X)
        if self._learner != "vb" and self.n_components_ <= EXACT_LIMIT:
            return np.clip((1 + self._posterior_mean(data)) / 2, 0.0, 1.0)
        return (1 + self._mean_field(data)) / 2

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Rows without noise for given codes: ``X @ mixing_.T + intercepts_``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components_)
            Codes of -1 and 1, or expected codes (``2 * predict_proba - 1``), which give expected rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The rows.
        """
        check_is_fitted(self)
        codes = np.asarray(X, dtype=float)
        if codes.ndim != 2 or codes.shape[1] != self.n_components_:
            raise DataError(
                f"codes have the shape {codes.shape}; give n_rows x {self.n_components_}, as transform returns them"
            )
        if not np.isfinite(codes).all():
            raise DataError("codes must be finite, without NaN; give them as transform returns them")
        return codes @ self.mixing_.T + self.intercepts_

    def _mean_field(self, data: np.ndarray) -> np.ndarray:
        if self._learner != "vb":
            return expected_codes(self._parameters(), data)
        # f of eq. 13, which is linear in the row; the parameters' uncertainty is in the rest.
        F = (data - self.intercepts_) @ self._parameters().weighted + self._offset
        return started_mean_field(self._interaction, F)

    def _posterior_mean(self, data: np.ndarray) -> np.ndarray:
        with Workers(n_workers(self.n_jobs)) as workers:
            return exact_posterior(self._parameters(), data, workers).mean

    def _parameters(self) -> Parameters:
        phi = np.full(self.n_features_in_, self.noise_precision_)
        return Parameters(self.mixing_, self.intercepts_, phi, self.factor_probabilities_)

    @property
    def _n_parameters(self) -> int:
        n, m = self.mixing_.shape
        return n_parameters(n, m, 1 if self._fitted_noise == "equal" else n)

    @property
    def _fitted_noise(self) -> OneNoise:
        """What was chosen; models of earlier versions had one noise, and nothing that says so."""
        return vars(self).get("noise_", "equal" if np.ndim(self.noise_precision_) == 0 else "columns")

    # ---- likelihood ----------------------------------------------------------------------------------------------

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Log likelihood of each row, by an exact sum over all codes (up to 16 factors).

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log densities at the fitted parameters.
        """
        check_is_fitted(self)
        data = self._data(X)
        if self.n_components_ > EXACT_LIMIT:
            raise DataError(
                f"the likelihood sums over all codes, which are too many for {self.n_components_} factors; "
                f"fit with at most {EXACT_LIMIT}"
            )
        with Workers(n_workers(self.n_jobs)) as workers:
            return exact_posterior(self._parameters(), data, workers).row_log

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, with the columns of the fit.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        float
            Mean log likelihood of a row; higher is better.
        """
        return float(np.mean(self.score_samples(X)))

    def bic(self, X: ArrayLike) -> float:
        """Bayesian (Schwarz') information criterion; twice that of Tu and Xu's eq. 14.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, with the columns of the fit.

        Returns
        -------
        float
            The criterion; lower is better.
        """
        row_log = self.score_samples(X)
        return float(np.log(len(row_log)) * self._n_parameters - 2 * row_log.sum())

    def aic(self, X: ArrayLike) -> float:
        """Akaike's information criterion.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, with the columns of the fit.

        Returns
        -------
        float
            The criterion; lower is better.
        """
        return float(2 * self._n_parameters - 2 * self.score_samples(X).sum())

    def nature(self, X: ArrayLike) -> Nature:
        """Say whether on-off factors describe the data better than continuous ones do.

        The rival is Gaussian factor analysis (probabilistic PCA with ``noise="equal"``) with 0, 1, ... factors, as many
        as here at least, and on until its BIC rises. What is binary wins only with the smaller BIC; otherwise the
        factors found here are steps by which something continuous is approximated.

        Columns that are skewed, have heavy tails or an outlier aren't Gaussian either, and two states describe them
        better. So along at least one factor the rows must gather at two states as well, each of at least 5 rows and
        2 %: two normals of one width must describe their projections better, by 10 in BIC, than one hump of a free
        shape (skewed, heavy-tailed or flat).

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows that the model was fitted to.

        Returns
        -------
        Nature
            The answer, by how much, and the rival's table.

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BinaryFactorAnalysis, simulate
        >>> X = simulate.binary_factors(200, 8, 2, noise=0.5, random_state=0).X
        >>> BinaryFactorAnalysis(4, random_state=0).fit(X).nature(X).kind
        'binary'
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 8)) + rng.normal(size=(200, 8)) / 2
        >>> BinaryFactorAnalysis(4, random_state=0).fit(X).nature(X).kind
        'continuous'
        """
        bic = self.bic(X)
        rows = scaled(self._data(X), self._fitted_noise)
        sizes = gaussian_sizes(rows.Z, rows.limit, self.n_components_, rows.shift)
        place = int(sizes["bic"].argmin())
        n_gaussian, rival = int(sizes["n_components"].iloc[place]), float(sizes["bic"].iloc[place])
        kind: NatureKind = "continuous"
        looks: tuple[Look, ...] = ()
        if self.n_components_ and bic < rival:
            states = zip(self.projections(X).T, self.transform(X).T > 0, strict=True)
            looks = tuple(look(projection, is_on) for projection, is_on in states)
            kind = "binary" if "two states" in looks else "undecided"
        elif n_gaussian == 0:
            kind = "none"
        elif self.reached_limit_ and n_gaussian > self.n_components_:
            kind = "undecided"
        return Nature(kind, rival - bic, n_gaussian, sizes, looks)

    def projections(self, X: ArrayLike) -> np.ndarray:
        """Place rows on the line between a factor's two states, one factor at a time.

        The weighted least squares of the row on `mixing_`, as if factors could have any value: of a factor that is off
        and on the values gather around -1 and 1, of a continuous one they don't.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, with the columns of the fit; NaN where a cell is missing.

        Returns
        -------
        ndarray of shape (n_rows, n_components_)
            Values, -1 at a factor's off state and 1 at its on state.
        """
        check_is_fitted(self)
        return projected(self._parameters(), self._data(X))

    def interval(
        self, X: ArrayLike, *, level: float = 0.95, n_draws: int = 50, random_state: RandomSource = None
    ) -> pd.DataFrame:
        """Intervals of what factors change, of the constants, the noise and the probabilities, by bootstrap refits.

        The number of factors is taken as known; each refit is by maximum likelihood, from the fit on.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows of the fit.
        level : float, default=0.95
            Probability that an interval is to have.
        n_draws : int, default=50
            Number of bootstrap refits, at least 2.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        DataFrame
            One line per number: quantity ("effect", what switching the factor on adds; "constant"; "noise", its
            standard deviation; "probability" of being on), variable (empty for probabilities), factor (-1 for none),
            value, sd, low and high. Those of noise are symmetric on the log scale, those of probabilities in log odds.

        Examples
        --------
        >>> from latentbits import BinaryFactorAnalysis, simulate
        >>> X = simulate.binary_factors(100, 6, 2, noise=0.2, random_state=0).X
        >>> table = BinaryFactorAnalysis(3, random_state=0).fit(X).interval(X, n_draws=10, random_state=0)
        >>> table["quantity"].value_counts().to_dict()
        {'effect': 12, 'constant': 6, 'noise': 6, 'probability': 2}
        """
        check_is_fitted(self)
        check_number("level", level, least=0, below=1)
        check_number("n_draws", n_draws, least=2, integer=True)
        if self.n_components_ > EXACT_LIMIT:
            raise DataError(f"intervals need the exact likelihood; fit with at most {EXACT_LIMIT} factors")
        rows, fitted = scaled(self._data(X), self._fitted_noise), self._parameters()
        unit = rows.scale
        phi = (fitted.phi * unit**2)[: len(rows.limit)]
        start = Parameters(fitted.A / unit[:, None], (fitted.c - rows.centre) / unit, phi, fitted.beta)
        spreads = bootstrap_spreads(rows, start, n_draws, as_generator(random_state))
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        reach, lines = float(norm.ppf((1 + level) / 2)), list[tuple[Any, ...]]()
        for j, k in np.ndindex(self.mixing_.shape):
            value, sd = 2 * self.mixing_[j, k], 2 * spreads.A[j, k] * unit[j]
            lines.append(("effect", names[j], k, value, sd, value - reach * sd, value + reach * sd))
        for j, sd in enumerate(spreads.c * unit):
            value = self.intercepts_[j]
            lines.append(("constant", names[j], -1, value, sd, value - reach * sd, value + reach * sd))
        for j, by in enumerate(np.broadcast_to(spreads.log_phi / 2, len(unit))):
            value = fitted.phi[j] ** -0.5
            ends = value * np.exp(-reach * by), value * np.exp(reach * by)
            lines.append(("noise", names[j], -1, value, value * by, *ends))
        for k, (value, by) in enumerate(zip(self.factor_probabilities_, spreads.gamma, strict=True)):
            ends = expit(log_odds(value) - reach * by), expit(log_odds(value) + reach * by)
            lines.append(("probability", "", k, value, value * (1 - value) * by, *ends))
        return pd.DataFrame(lines, columns=["quantity", "variable", "factor", "value", "sd", "low", "high"])

    def sample(self, n_samples: int = 1, random_state: RandomSource = None) -> np.ndarray:
        """Draw new rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows: codes drawn by `factor_probabilities_`, mixed, plus noise.
        """
        check_is_fitted(self)
        check_number("n_samples", n_samples, least=1, integer=True)
        rng = as_generator(random_state)
        on = rng.random((n_samples, self.n_components_)) < self.factor_probabilities_
        noise = rng.standard_normal((n_samples, self.n_features_in_)) / np.sqrt(self.noise_precision_)
        return self.inverse_transform(np.where(on, 1.0, -1.0)) + noise
