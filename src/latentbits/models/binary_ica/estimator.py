"""BinaryICA, the estimator."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from latentbits.correlations.parallel_analysis import draws_within
from latentbits.correlations.tetrachoric import Tetrachoric
from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import SHOWN
from latentbits.data.segments import encode_labels, windows
from latentbits.errors import DataError, warn_user
from latentbits.models.base import RestartedModel, degeneracy
from latentbits.models.binary_ica import Likelihood, Method, Posterior, Shrinkage
from latentbits.models.binary_ica.identifiability import identifiability, most_sources, rows_needed
from latentbits.models.binary_ica.judgement import windows_differ
from latentbits.models.binary_ica.learners import (
    COPIES,
    Learning,
    MergedColumns,
    number_of_sources,
    segment_correlations,
)
from latentbits.models.binary_ica.mle import MOST_ORTHANT_COLUMNS
from latentbits.models.binary_ica.parameters import LINK, Parameters, Prior
from latentbits.models.binary_ica.source_model import JudgedSourceModel, column_names, rows_and_labels
from latentbits.numerics import RandomSource
from latentbits.wording import counted

RUNAWAY = 60.0
"""c times an entry of the mixing, from which cells are practically a function of the source: two such columns have a
correlation above 0.9997, and no table tells that from 1."""

CHANGING = 0.05
MOST_SHUFFLED = 39
"""Windows change if at most this share of so many random groups of rows change as much."""


class BinaryICA(JudgedSourceModel, RestartedModel):
    """Independent components of binary data whose sources change from segment to segment.

    In segment u, the sources z of a row are independent and normal, with means and scales of that segment. They are
    mixed linearly, in the same way in all segments, and cell i is 1 with probability
    ``Phi((c * mixing_ @ z + intercepts_)[i])``, c = sqrt(pi / 8), which is nearly the logistic function. The mixing is
    identifiable because the sources' scales change between segments; `identifiability` says how many columns and
    segments are needed. The published model has no intercepts; without them fewer sources than columns can't give each
    column a share of ones of its own.

    Parameters
    ----------
    n_components : int or None, default=None
        K, the number of sources. None means as many as parallel analysis of the tetrachoric correlations finds
        (`parallel_analysis`), no more than `identifiability` and the rows allow; a warning says how many. It may be 0:
        then columns are independent, and the model has intercepts alone. `select_order` with segments chooses by
        held-out pairs, which is slower and better.
    method : {"blica", "mle", "ivae"}, default="blica"
        "blica" fits the tetrachoric correlations of all segments: fast, and the best choice in most cases. "mle"
        maximises the full likelihood, starting from BLICA's solution, with the entries of the mixing kept within 8 in
        size (in separable data they would diverge). One or two sources are integrated over; for more, the likelihood
        is that of expectation propagation, too low by about 0.03 per row, unless `n_points` is given. "ivae" is a
        linear variational autoencoder, which does well only with fewer sources than columns.
    shrinkage : {"matched", "published"}, default="matched"
        Of "blica" (and the start of "mle"). Correlations of few rows are too noisy to be fitted as they are, and are
        shrunk. With "matched" those of the model are shrunk in the same way, so that strengths aren't underestimated
        and more rows always help; columns that are constant, rare or seldom seen in a segment count for less there, or
        not at all. "published" is the form of Hyttinen, Barin-Pacela and Hyvärinen, whose model isn't shrunk.
    condition_number : float or None, default=None
        Largest condition number of each segment's correlation matrix: where it is exceeded, the correlations are
        shrunk towards 0. None means with "matched" as much as the variance of a tetrachoric correlation asks for, with
        "published" from 10 for as many sources as columns to 20 for half as many or fewer.
    prior : float, default=1.0
        Strength of the prior of "blica" with matched shrinkage and of "mle": normal, with a precision of 0.4 ("mle":
        0.8) for entries of the mixing (times c) and of 3 for the logarithms of scales, both multiplied by this; 0 is
        none, and it is below 10,000.
    n_segments : int, default=10
        Number of runs of equal length into which the rows are cut, in their order, when `fit` is given no segments; at
        most one per row.
    n_init : int, default=5
        Number of random starts; the best is kept. With "mle" they are BLICA's, and the likelihood is maximised once.
    max_iter : int, default=2000
        Largest number of L-BFGS iterations per start.
    tol : float or None, default=None
        A start has converged when ten iterations raise the objective by less than this per observed cell. None means
        1e-8 for "blica" with matched shrinkage, and 1e-6 otherwise.
    n_points : int or None, default=None
        Number of points of the integrals over the sources: per dimension for one or two sources, in total (rounded up
        to a power of 2) for more; from 3 to 65536, and at most 2048 of them per dimension are used. None means 256 and
        80 for one and two sources and none for more in the fit by "mle", and 400, 40 and 512 in posteriors and scores,
        whose points adapt to each row.
    likelihood : {"integrated", "exact"}, default="integrated"
        Of "mle". "integrated" integrates over one or two sources and approximates the rest by expectation propagation.
        "exact" is the published form: orthant probabilities by the multivariate normal distribution function (SciPy's,
        with its error of some 1e-4), for at most 10 columns; from minutes for 4 columns to hours for 6.
    posterior : {"exact", "normal"}, default="exact"
        How `transform` and `posterior_sd` find the sources of rows whose segments are given: "exact" integrates (from
        three sources on with errors of the 512 points), "normal" takes the normal distribution that expectation
        propagation finds, which is some 20 times as fast and, at usual strengths, mostly right within a hundredth of a
        standard deviation.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    n_components_ : int
        Number of sources: as given, or as found.
    mixing_ : ndarray of shape (n_features, n_components)
        Scale, sign and order of sources are not identified. By convention, the mean over rows of a source's variance
        within segments is 1, the entry of a column that is largest in size is positive, and columns go from the longest
        to the shortest.
    source_means_ : ndarray of shape (n_segments, n_components)
        Mean of each source in each segment.
    source_scales_ : ndarray of shape (n_segments, n_components)
        Standard deviation of each source in each segment.
    intercepts_ : ndarray of shape (n_features,)
        What is added to each column before the probit, the same in all segments; orthogonal to the mixing's columns,
        so 0 with as many sources as columns.
    segments_ : ndarray of shape (n_segments,)
        The labels of the segments: numbers by size, texts in natural order ("week 9" before "week 10"), dates as text.
    segment_share_ : ndarray of shape (n_segments,)
        Share of the training rows in each segment.
    thresholds_ : ndarray of shape (n_segments, n_features)
        Normal thresholds of the columns' shares of ones in each segment, ``P(1) = Phi(-threshold)``.
    objective_ : float
        Objective of the best start: the Gaussian likelihood of the correlations ("blica") or the log likelihood
        ("mle"), both with the log density of the prior where there is one, or a lower bound ("ivae").
    objective_history_ : ndarray of shape (n_iter_,)
        The best start's objective after each iteration; it never falls.
    restarts_ : DataFrame
        One line per start: seed, objective, n_iter and converged.
    restart_components_ : ndarray of shape (n_init, n_components, n_features)
        The mixing of every start, transposed.
    restart_histories_ : list of ndarray
        The objective after each iteration of every start, in the order of `restarts_`.
    n_iter_ : int
        Iterations made by the best start.
    converged_ : bool
        Whether the best start converged; False if it was stopped by `max_iter` or interrupted.
    n_rows_ : int
        Number of rows of the training data.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    References
    ----------
    Hyttinen, Barin-Pacela and Hyvärinen, Binary independent component analysis: a non-stationarity-based approach.

    Examples
    --------
    >>> from latentbits import BinaryICA, mean_cosine_similarity, simulate
    >>> truth = simulate.binary_ica(200, 6, 2, 20, random_state=0)
    >>> model = BinaryICA(2, random_state=0).fit(truth.X, segments=truth.segments)
    >>> bool(mean_cosine_similarity(truth.mixing, model.mixing_) > 0.95)
    True
    >>> model.transform(truth.X, segments=truth.segments).shape
    (4000, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        method: Method = "blica",
        shrinkage: Shrinkage = "matched",
        condition_number: float | None = None,
        prior: float = 1.0,
        n_segments: int = 10,
        n_init: int = 5,
        max_iter: int = 2000,
        tol: float | None = None,
        n_points: int | None = None,
        likelihood: Likelihood = "integrated",
        posterior: Posterior = "exact",
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.shrinkage = shrinkage
        self.condition_number = condition_number
        self.prior = prior
        self.n_segments = n_segments
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol  # type: ignore[assignment]  # None is what `Learning` chooses
        self.n_points = n_points
        self.likelihood = likelihood
        self.posterior = posterior
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None, segments: ArrayLike | str | int | None = None) -> Self:
        """Estimate the mixing, and the sources' means and scales in each segment.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0, 1 and missing (NaN, None, pd.NA); other values are refused unless `binarize` is set. Or sessions x time x
            channels.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            A label for each row (numbers, texts or dates), or the name of a column of the frame X that holds the labels
            (and is then not a variable). Segments may differ in size. A whole number cuts a series, in its order, into
            so many windows of equal length, as `segments_by_length` does, and None into `n_segments` windows, with a
            warning that says whether correlations change between them more than between random rows. Windows needn't
            end where the sources change: in simulations true change points were better by 0.001 to 0.002 in mean
            cosine similarity, as a window across a change is an average of two segments and still differs from others.
            The sessions of three-dimensional X (sessions x time x channels) are segments by themselves, or have a label
            each.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        X, labels = rows_and_labels(X, segments)
        data = self._data(X, reset=True)
        _check_size(data, self.n_components)
        if self.method == "mle" and self.likelihood == "exact" and data.shape[1] > MOST_ORTHANT_COLUMNS:
            raise DataError(
                f"likelihood='exact' is for at most {MOST_ORTHANT_COLUMNS} columns, and there are {data.shape[1]}; use "
                "likelihood='integrated'"
            )
        N = data.shape[0]
        cut = labels is None
        names, codes = encode_labels(windows(min(self.n_segments, N) if cut else labels, N), N)
        found = segment_correlations(data, names[codes], self.n_jobs)
        K = self._n_sources(data, found, codes)
        if cut and K > 0 and len(names) > 1 and not degeneracy(data, None):
            _warn_about_windows(found, data, codes, K, self.n_jobs)
        learned = self._learning().learn(data, found, names, codes, K)
        self._adopt_run(learned.best, learned.runs)
        self.restart_components_ = learned.mixings
        self.mixing_, self.source_means_, self.source_scales_, self.intercepts_ = learned.parameters
        self.n_rows_ = N
        self.segments_ = names
        self.segment_share_ = np.bincount(codes) / N
        self.thresholds_ = learned.thresholds
        warn_about_strength(learned.parameters, column_names(data), stacklevel=3)
        return self

    def _learning(self) -> Learning:
        return Learning(
            self.method,
            self.shrinkage,
            self.condition_number,
            Prior.of_strength(self.prior),
            self.n_init,
            self.max_iter,
            self.tol,
            self.n_points,
            self.likelihood,
            self.random_state,
            self.n_jobs,
            self.verbose,
        )

    def _n_sources(self, data: BinaryData, found: Tetrachoric, codes: np.ndarray) -> int:
        """The number of sources, with a warning if it was chosen here, or is more than the rows can tell."""
        U, n = found.thresholds.shape
        rows = data.n_observed / (n * U)
        given = self.n_components
        if given is None:
            n_factors = number_of_sources(data, found, codes, Prior.of_strength(self.prior), self.n_jobs)
            K = min(n_factors, most_sources(n, U, rows))
        else:
            n_factors = K = given
        if degeneracy(data, given):  # which has been warned about, and is the reason of all the rest
            return K
        if given is None:
            warn_user(_choice(n_factors, K, n, U))
        if K == 0:
            return K
        _warn_about_size(n, K, U, rows, stacklevel=4)
        _warn_about_copies(found, K, column_names(data))
        return K

    def fit_transform(self, X: Any, y: None = None, segments: ArrayLike | str | int | None = None) -> np.ndarray:
        """Fit, and return the sources of the training rows, as `transform` with the same arguments does.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0, 1 and missing (NaN, None, pd.NA); other values are refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            As in `fit`. With None the fit cuts the
            rows into `n_segments` runs, and `transform` averages over the segments.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Posterior means of the sources.
        """
        return self.fit(X, segments=segments).transform(X, segments=segments)


def _check_size(data: BinaryData, n_components: int | None) -> None:
    """Refuse one column, and more sources than columns."""
    n = data.shape[1]
    if n == 1:
        raise DataError("X has 1 feature(s), and what goes together needs two columns at least; give more columns")
    if n_components is not None and n_components > n:
        raise DataError(
            f"n_components={n_components} (--components) is more than the {counted(n, 'column')}, and binary ICA finds "
            f"at most as many sources as columns; use at most {n}"
        )


def _warn_about_size(n: int, m: int, U: int, rows: float, *, stacklevel: int) -> None:
    """Warn if there are too few rows, columns or segments for so many sources."""
    if rows < rows_needed(n, m):
        warnings.warn(
            f"{counted(U, 'segment')} with {rows:.1f} rows each on average are too few for {counted(m, 'source')} of "
            f"{counted(n, 'column')}, which take about {rows_needed(n, m)} rows per segment; use fewer segments or "
            "sources",
            stacklevel=stacklevel,
        )
    if n == 2:
        reason = "with two columns the order of its rows is not identifiable; use more columns"
    elif U == 1 and m > 1:
        reason = "one segment does not identify the sources' rotation; give segments between which they change"
    elif identifiability(n, m, U) < 0:
        reason = f"{n} columns in {U} segments are few for {counted(m, 'source')}; use more of these, or fewer sources"
    else:
        return
    warnings.warn(f"mixing_ may be one of many that fit equally well: {reason}", stacklevel=stacklevel)


def _choice(n_factors: int, K: int, n: int, U: int) -> str:
    """What was chosen where no number was given, in a sentence."""
    where = f"{counted(n, 'column')} in {counted(U, 'segment')}"
    if n_factors == 0:
        return (
            f"parallel analysis finds no source behind {where}: correlations are no larger than those of shuffled "
            "columns, so the model has intercepts alone; give n_components (--components) to fit sources all the same"
        )
    fewer = "" if n_factors == K else f", of which so many segments and rows can tell {K}"
    return (
        f"n_components is not given; parallel analysis finds {counted(n_factors, 'source')} behind {where}{fewer}, so "
        f"{counted(K, 'source')} will be sought; give a number (--components) to choose it yourself, or use "
        "select_order (latentbits select)"
    )


def _warn_about_windows(found: Tetrachoric, data: BinaryData, codes: np.ndarray, K: int, n_jobs: int | None) -> None:
    """Say which segments were assumed, and whether the order of the rows matters."""
    p = windows_differ(found, data, codes, n_draws=min(draws_within(found), MOST_SHUFFLED), n_jobs=n_jobs)
    assumed = (
        f"no segments are given, so the {counted(len(codes), 'row')} were cut, in their order, into "
        f"{counted(len(found.thresholds), 'window')}"
    )
    if p <= CHANGING:
        warn_user(f"{assumed}, between which correlations do change (p = {p:.2g}); give segments if you know them")
        return
    doubt = "so that the rotation of the sources is a guess" if K > 1 else "so that these say nothing"
    warn_user(
        f"{assumed}; correlations change between these no more than between random groups of rows (p = {p:.2g}), "
        f"{doubt}; give segments between which the sources change (--segments)"
    )


def _warn_about_copies(found: Tetrachoric, K: int, names: list[str]) -> None:
    """Say which columns count as one."""
    groups = MergedColumns.of(found, least=K).groups()
    if groups:
        listed = "; ".join(", ".join(names[i] for i in group[:SHOWN]) for group in groups[:SHOWN])
        more = f" and {len(groups) - SHOWN} more groups" if len(groups) > SHOWN else ""
        warn_user(
            f"almost copies of each other, or of each other's opposite: {listed}{more}, with correlations above "
            f"{COPIES}; each group counts as one column in the fit, and has the same row of mixing_ but for the sign"
        )


def warn_about_strength(parameters: Parameters, names: list[str], *, stacklevel: int) -> None:
    """Warn about entries of the mixing so large that the data can't tell them from infinite ones."""
    size = LINK * np.abs(parameters.mixing)
    if size.max(initial=0.0) < RUNAWAY:
        return
    i, k = np.unravel_index(int(size.argmax()), size.shape)
    warnings.warn(
        f"an entry of mixing_ is {parameters.mixing[i, k]:.0f} ({names[i]}, source {k}), where cells are practically a "
        "function of the source and the data can't tell its size; raise prior (with shrinkage='matched'), or leave out "
        "columns that are almost copies",
        stacklevel=stacklevel,
    )
