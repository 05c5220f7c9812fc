"""Does an ensemble of models find something where there is nothing to find? Tables with independent columns.

Rules of judgement, written before the run. Tables have 30 to 150 rows, 10 to 50 columns and a density of 0.02 to 0.5,
all drawn uniformly on the logarithmic scale; the columns' frequencies are drawn from a beta distribution. `FalseZeros`
is fitted with its five folds of held-out cells; its search for noise by row has no effect on them and is left out.

- Independent columns, 100 tables: the log-likelihood of held-out cells by the ensemble's own probabilities is above
  that of the columns' frequencies by more than two standard errors in at most 5.
- The same tables: what the ensemble adds is no finding (z above 2 over columns, and over rows and columns) in at least
  95.
- Planted components (`simulate.aspect_bernoulli` with its defaults, 2 to 5 components, 100 x 30 to 150 x 50, a density
  of 0.2 to 0.5), 6 tables, so that the rules above can fail: it is above by more than two standard errors in all. (In
  three of density below 0.15, tried before, it was above once: so few ones carry little information.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, count_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

KINDS = {"independent": 100, "planted": 6}
TITLES = {"independent": "Independent columns", "planted": "Planted components"}
ROWS, COLUMNS, DENSITY = (30, 150), (10, 50), (0.02, 0.5)
PLANTED_ROWS, PLANTED_COLUMNS, PLANTED_DENSITY = (100, 150), (30, 50), (0.2, 0.5)
ENOUGH = 2.0
FIRST_SEED = 100


def jobs(full: bool) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "seed": FIRST_SEED + number}
        for kind, n in KINDS.items()
        for number in range(n if full else min(n, 6))
    ]


def run(kind: str, seed: int) -> list[dict[str, Any]]:
    import numpy as np

    from latentbits import FalseZeros

    X = _table(kind, np.random.default_rng([seed, list(KINDS).index(kind)]))
    size = {"rows": X.shape[0], "columns": X.shape[1], "ones": int(X.sum())}
    fitted = FalseZeros(noise=None, random_state=seed).fit(X)
    if fitted.gains_ is None:
        return [{**size, "hidden": 0}]  # a table without a one: there is nothing to ask
    found = {
        f"{name}_{baseline.replace(' ', '_')}": gain[name]
        for baseline, gain in fitted.gains_.items()
        for name in ("z", "own_gain", "own_gain_se", "gain", "gain_se")
    }
    return [{**size, "hidden": fitted.n_hidden_, **found, "auc": fitted.auc_["model"]}]


def _table(kind: str, rng: np.random.Generator) -> np.ndarray:
    import numpy as np

    from latentbits import simulate

    if kind == "planted":
        density = _evenly(rng, *PLANTED_DENSITY)
        n_rows, n_columns = round(_evenly(rng, *PLANTED_ROWS)), round(_evenly(rng, *PLANTED_COLUMNS))
        k = int(rng.integers(2, 6))
        planted: np.ndarray = simulate.aspect_bernoulli(n_rows, n_columns, k, density=density, random_state=rng).X
        return planted
    n_rows, n_columns = round(_evenly(rng, *ROWS)), round(_evenly(rng, *COLUMNS))
    density = _evenly(rng, *DENSITY)
    p = np.clip(rng.beta(4 * density, 4 * (1 - density), n_columns), 1e-3, 1 - 1e-3)
    return (rng.random((n_rows, n_columns)) < p).astype(np.int8)


def _evenly(rng: np.random.Generator, low: float, high: float) -> float:
    import numpy as np

    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def judge(table: pd.DataFrame) -> list[Claim]:
    nothing, planted = (table[table["kind"] == kind] for kind in KINDS)
    quiet, no_finding = ~_above(nothing), ~_is_found(nothing)
    rows = nothing["own_gain_rows_and_columns"] > ENOUGH * nothing["own_gain_se_rows_and_columns"]
    errors = nothing["own_gain_columns"] / nothing["own_gain_se_columns"]
    return [
        Claim(
            statement="independent columns: held-out cells aren't predicted better than by the columns' frequencies, "
            "by more than two standard errors, in at least 95 of 100",
            ours=count_of(quiet),
            holds=bool(quiet.mean() >= 0.95),
            note=f"In standard errors: {errors.median():.1f} in the median, {errors.max():.1f} at most. Over rows and "
            f"columns above two standard errors: {count_of(rows)}.",
        ),
        Claim(
            statement="independent columns: the verdict on the ensemble is that nothing is found in at least 95 of 100",
            ours=count_of(no_finding),
            holds=bool(no_finding.mean() >= 0.95),
        ),
        Claim(
            statement="planted components: held-out cells are predicted better, by more than two standard errors, in "
            "all",
            ours=f"{count_of(_above(planted))}; by the verdict {count_of(_is_found(planted))}",
            holds=bool(_above(planted).all()),
        ),
    ]


def _above(table: pd.DataFrame) -> pd.Series:
    """Whether the ensemble's log likelihood exceeds that of column means by two standard errors."""
    return table["own_gain_columns"] > ENOUGH * table["own_gain_se_columns"]


def _is_found(table: pd.DataFrame) -> pd.Series:
    """The rule of `verdict`."""
    return (table["z_columns"] > ENOUGH) & (table["z_rows_and_columns"] > ENOUGH)


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    figure = new_figure(8.5, 3.6)
    panels = figure.subplots(1, 2)
    for ax, kind in zip(panels, KINDS, strict=True):
        group = table[table["kind"] == kind]
        errors = group["own_gain_columns"] / group["own_gain_se_columns"]
        ax.scatter(group["ones"], errors, s=12, color=BEST if kind == "planted" else QUIET)
        ax.axhline(ENOUGH, color="black", lw=0.8)
        ax.set(title=TITLES[kind], xscale="log", xlabel="ones in the table")
    panels[0].set_ylabel("gain over columns, standard errors")
    return {"gains": figure}


EXPERIMENT = Experiment(
    title="Nothing is found where there is nothing: an ensemble on tables of independent columns",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
