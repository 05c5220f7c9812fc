"""Roll calls of the UN General Assembly: the Cold War as a source that blocs load on, and when it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, count_of, median_range

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

N_SOURCES = 4
YEARS = 4
"""Length of a segment."""

EAST = ("Russia", "Belarus", "Ukraine", "Poland", "Hungary", "Czechoslovakia", "Czech Republic", "Bulgaria", "Romania")
WEST = (
    *("United States", "United Kingdom", "Canada", "France", "Belgium", "Netherlands", "Luxembourg"),
    *("Norway", "Denmark", "Iceland", "Italy", "Portugal"),
)
"""The Warsaw Pact (with the Soviet Union's other two seats) and NATO's founders, as far as they are in the table."""

LAST_BEFORE, FIRST_AFTER = 1988, 1992
SEPARATE = 0.95
"""Share of pairs of an eastern and a western country that a source must put in the same order."""


def jobs(full: bool) -> list[dict[str, Any]]:
    return [{"seed": seed} for seed in range(5 if full else 2)]


def run(seed: int) -> list[dict[str, Any]]:
    import numpy as np

    from experiments.data import use_shared_folder
    from latentbits import BinaryICA
    from latentbits.datasets import load_votes

    use_shared_folder()
    calls = load_votes(min_present=0.9)
    first_year = calls.year.min()
    begins = first_year + (calls.year - first_year) // YEARS * YEARS
    model = BinaryICA(N_SOURCES, random_state=seed).fit(calls.data, segments=begins)
    names = [str(name) for name in model.feature_names_in_]
    years = model.segments_.astype(int)
    rows = []
    for source, (column, scales) in enumerate(zip(model.mixing_.T, model.source_scales_.T, strict=True)):
        east, west = (np.array([column[names.index(name)] for name in bloc if name in names]) for bloc in (EAST, WEST))
        rows.append(
            {
                "source": source,
                "east_minus_west": (east.mean() - west.mean()) / column.std(),
                "in_order": _in_order(east, west),
                "scale_until_1988": _rms(scales[years + YEARS - 1 <= LAST_BEFORE]),
                "scale_since_1992": _rms(scales[years >= FIRST_AFTER]),
                "_names": names,
                "_column": column,
                "_years": years,
                "_scales": scales,
            }
        )
    return rows


def _in_order(east: np.ndarray, west: np.ndarray) -> float:
    """The share of pairs of countries in one order, whichever of the two it is."""
    above = float((east[:, None] > west).mean())
    return max(above, 1 - above)


def _rms(scales: np.ndarray) -> float:
    return float((scales**2).mean() ** 0.5)


def cold_war(table: pd.DataFrame) -> pd.DataFrame:
    """Of each fit, the source on which the two blocs differ most; its scale over time plays no part in that."""
    return table.loc[table["east_minus_west"].abs().groupby(table["seed"]).idxmax()]


def judge(table: pd.DataFrame) -> list[Claim]:
    source = cold_war(table)
    ratio = source["scale_since_1992"] / source["scale_until_1988"]
    return [
        Claim(
            statement="the source on which the Warsaw Pact and NATO's founders differ most keeps them apart "
            f"(over {SEPARATE:.0%} of pairs in one order)",
            ours=f"{median_range(source['in_order'], 3)} of pairs, {count_of(source['in_order'] > SEPARATE)} starts",
            holds=(source["in_order"] > SEPARATE).all(),
        ),
        Claim(
            statement="its scale falls after the Cold War (segments since 1992 against those until 1988)",
            ours=f"ratio {median_range(ratio)}, {count_of(ratio < 1)} starts",
            holds=(ratio < 1).all(),
        ),
    ]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    import numpy as np

    from latentbits.plots.style import BEST, QUIET, new_figure

    source = cold_war(table).iloc[0]
    column, names = np.asarray(source["_column"]), list(source["_names"])
    order = np.argsort(column)
    colours = ["#d55e00" if names[i] in EAST else BEST if names[i] in WEST else QUIET for i in order]
    figure = new_figure(9, 8.2)
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    left.barh(range(len(order)), column[order], color=colours, height=0.75)
    left.set_yticks(range(len(order)), [names[i] for i in order], fontsize=6.5)
    left.set(xlabel="mixing", ylim=(-1, len(order)), title="The source that divides East (red) and West (blue)")
    for _, row in cold_war(table).iterrows():
        right.plot(np.asarray(row["_years"]) + YEARS / 2, row["_scales"], "o-", color=BEST, alpha=0.5, markersize=4)
    right.axvspan(1989, 1992, color="#f0e442", alpha=0.4, linewidth=0)
    right.set(xlabel=f"year (segments of {YEARS})", ylabel="scale of the source", ylim=(0, None))
    right.set_title(f"Its scale in {table['seed'].nunique()} fits; 1989 to 1991 marked")
    return {"cold_war": figure}


EXPERIMENT = Experiment(
    title="Votes of the UN General Assembly: a Cold War source",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
