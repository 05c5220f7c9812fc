"""Should the command line look for noise by default? `noise="auto"` compared with no noise components.

Rules of judgement, written before the run. AspectBernoulli with 3, 5 and 8 components (3 restarts), of which those of
noise come in addition, on real tables and on planted ones (200 x 50, four components, dense or sparse as in
beyond/noise, clean or with false zeros, false ones or both by row). Whatever is compared is the mean over numbers of
components (and over two tables of each clean kind), one number for each table or kind of table. "auto" becomes the
default if all of these hold:

- Held-out cells (5 folds) of real tables: predicted better in the mean over tables, and on at least two in three.
- Held-out cells of clean planted tables: worse by at most 0.001 nats per cell.
- False cells (lost ones among the zeros, added ones among the ones) of planted tables and corroded digits: `suspicion`
  ranks them better, by at least 0.02 of AUC in the mean, and worse by more than 0.01 in no kind of table.
- Cost: at most 6 times the processor time of a fit, in the median (it makes four).

For comparison, but not judged: a model without noise components that has as many free ones as "auto" has in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, count_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

REAL = (
    *("fossils", "fossils of rich sites", "AFLP bands", "monks", "birds, visit 1", "posts", "UN votes of a session"),
    *("digits", "digits, corroded"),
)
PLANTED: dict[str, dict[str, float]] = {
    "clean": {},
    "false zeros": {"white": 0.6},
    "false ones": {"black": 0.3},
    "false zeros and ones": {"white": 0.6, "black": 0.3},
}
"""What `simulate.add_noise` is told."""

CONTENTS = ("dense", "sparse")
COMPONENTS = (3, 5, 8)
SHAPE, TRUE_K, CONCENTRATION = (200, 50), 4, 0.3
RICH, DIGITS, CORROSION = 10, 400, 0.8
RESTARTS, FOLDS = 3, 5
MOST_WORSE, LEAST_AUC, MOST_WORSE_AUC, MOST_TIMES, TABLES_BETTER = 0.001, 0.02, 0.01, 6.0, 2 / 3


def jobs(full: bool) -> list[dict[str, Any]]:
    tables = [*REAL, *(f"{content}, {kind}" for content in CONTENTS for kind in PLANTED)]
    chosen = tables if full else ["AFLP bands", "monks", "sparse, clean", "sparse, false zeros"]
    return [
        {"table": table, "k": k, "seed": seed}
        for table in chosen
        for k in (COMPONENTS if full else COMPONENTS[:1])
        for seed in range(2 if full and table.endswith("clean") else 1)
    ]


def run(table: str, k: int, seed: int) -> list[dict[str, Any]]:
    import time

    from latentbits import AspectBernoulli, compare

    X, lost, added = _real(table, seed) if table in REAL else _planted(table, seed)
    for noise in (None, "auto"):  # compiled before the clock starts
        AspectBernoulli(2, smoothing=0, noise=noise, n_init=1, max_iter=5, random_state=0).fit(X)
    settings = {"n_init": RESTARTS, "random_state": seed}
    models = {
        "none": AspectBernoulli(k, smoothing=0, **settings),
        "auto": AspectBernoulli(k, smoothing=0, noise="auto", **settings),
    }
    seconds = {}
    for name, model in models.items():
        began = time.process_time()
        model.fit(X)
        seconds[name] = time.process_time() - began
    kept = len(models["auto"].components_) - k
    models["wider"] = AspectBernoulli(k + kept, smoothing=0, **settings).fit(X)
    cells = compare(models, X, criterion="cells", n_folds=FOLDS, random_state=seed).table.set_index("model")["cells"]
    row: dict[str, Any] = {"ones": float((X == 1).mean())}
    row |= {f"kept_{noise}": noise in models["auto"].phantoms_ for noise in ("white", "black")}
    for name, model in models.items():
        row[f"cells_{name}"] = cells[name]
        row[f"auc_lost_{name}"] = _auc(model, X, "absence", lost)
        row[f"auc_added_{name}"] = _auc(model, X, "presence", added)
    return [{**row, **{f"seconds_{name}": value for name, value in seconds.items()}}]


def _real(table: str, seed: int) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """A table, where a 1 was lost and where one was added, if that is known."""
    from experiments.ab._shared import posts
    from experiments.beyond._suspects import bird_tables
    from experiments.data import use_shared_folder
    from latentbits import datasets, simulate

    use_shared_folder()
    if table == "digits, corroded":
        noisy = simulate.corrode(datasets.load_digits().X[:DIGITS], CORROSION, random_state=seed)
        return noisy.X, noisy.changed, None
    loaders: dict[str, Callable[[], np.ndarray]] = {
        "fossils": lambda: datasets.load_fossils().data.dense(),
        "fossils of rich sites": lambda: datasets.load_fossils(min_genera=RICH).data.dense(),
        "AFLP bands": lambda: datasets.load_aflp().data.dense(),
        "monks": lambda: datasets.load_monks().data.dense(),
        "birds, visit 1": lambda: bird_tables("visit 1")[0],
        "posts": lambda: posts().X,
        "UN votes of a session": _longest_session,
        "digits": lambda: datasets.load_digits().X[:DIGITS],
    }
    return loaders[table](), None, None


def _longest_session() -> np.ndarray:
    """Roll calls of the session that had most, and the countries that took part in it; NaN where one was absent."""
    import numpy as np

    from latentbits.datasets import load_votes

    calls = load_votes()
    votes = calls.data.dense()[calls.session == np.bincount(calls.session).argmax()]
    return np.where(votes < 0, np.nan, votes)[:, (votes >= 0).any(axis=0)]


def _planted(table: str, seed: int) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    import numpy as np

    from latentbits import simulate

    content, _, kind = table.partition(", ")
    rng = np.random.default_rng([seed, CONTENTS.index(content), list(PLANTED).index(kind), *SHAPE])
    shape = (TRUE_K, SHAPE[1])
    H = rng.beta(0.5, 0.5, shape)
    if content == "sparse":
        H = np.where(rng.random(shape) < 0.15, rng.uniform(0.5, 0.95, shape), 0.01)
    P = rng.dirichlet(np.full(TRUE_K, CONCENTRATION), SHAPE[0]) @ H
    noisy = simulate.add_noise((rng.random(P.shape) < P).astype(np.int8), **PLANTED[kind], random_state=rng)
    return noisy.X, noisy.lost, noisy.added


def _auc(model: Any, X: np.ndarray, kind: str, false: np.ndarray | None) -> float | None:
    """How well the cells that are false are ranked among those of the same value; None if there is none."""
    from sklearn.metrics import roc_auc_score

    if false is None or not false.any():
        return None
    could_be = (X == 0) if kind == "absence" else (X == 1)
    return float(roc_auc_score(false[could_be], model.suspicion(X, kind=kind)[could_be]))


def judge(table: pd.DataFrame) -> list[Claim]:
    real, planted = table[table["table"].isin(REAL)], table[~table["table"].isin(REAL)]
    clean = planted[planted["table"].str.endswith("clean")]
    claims = [_held_out(real), _clean(clean), _ranking(table), _cost(table)]
    becomes = all(claim.holds for claim in claims)
    decision = Claim(
        statement='all of these, so that "auto" becomes the default of the command line',
        ours=f"{count_of(bool(claim.holds) for claim in claims)} hold: the default "
        + ('becomes "auto"' if becomes else "stays none"),
        holds=becomes,
        note="" if becomes else 'Without them "auto" is what one asks for.',
    )
    return [*claims, decision]


def _gain(table: pd.DataFrame, measure: str, over: str = "none") -> pd.Series:
    """What "auto" has more, a number for each table."""
    difference = table[f"{measure}_auto"].astype(float) - table[f"{measure}_{over}"].astype(float)
    return difference.groupby(table["table"], sort=False).mean().dropna()


def _in_thousandths(gains: pd.Series) -> str:
    return "; ".join(f"{name} {1000 * value:+.1f}" for name, value in gains.items())


def _held_out(real: pd.DataFrame) -> Claim:
    gain, beside = _gain(real, "cells"), _gain(real, "cells", over="wider")
    better = gain > 0
    return Claim(
        statement=f'real tables: "auto" predicts held-out cells better in the mean, and on {TABLES_BETTER:.0%} of them',
        ours=f"{1000 * gain.mean():+.2f} thousandths of a nat per cell; better on {count_of(better)}",
        holds=gain.mean() > 0 and better.mean() >= TABLES_BETTER,
        note=f"{_in_thousandths(gain)}. Over as many free components: {1000 * beside.mean():+.2f}, better on "
        f"{count_of(beside > 0)}. Noise was kept in {_kept(real)}.",
    )


def _kept(table: pd.DataFrame) -> str:
    words = [f"{noise} in {count_of(table[f'kept_{noise}'].astype(bool))}" for noise in ("white", "black")]
    return " and ".join(words) + " fits"


def _clean(clean: pd.DataFrame) -> Claim:
    gain = _gain(clean, "cells")
    return Claim(
        statement=f"clean planted tables: held-out cells worse by at most {MOST_WORSE} nats per cell",
        ours=f"{1000 * gain.mean():+.2f} thousandths of a nat per cell",
        holds=bool((gain >= -MOST_WORSE).all()),
        note=f"{_in_thousandths(gain)}. Noise was kept in {_kept(clean)}, with fewer components than the true number "
        "or more.",
    )


def _ranking(table: pd.DataFrame) -> Claim:
    gains = {words: _gain(table, f"auc_{what}") for what, words in (("lost", "false zeros"), ("added", "false ones"))}
    beside = [_gain(table, f"auc_{what}", over="wider") for what in ("lost", "added")]
    each = [value for gain in gains.values() for value in gain]
    mean, wider = sum(each) / len(each), sum(sum(part) for part in beside) / len(each)
    places = [f"{words}: " + "; ".join(f"{name} {v:+.3f}" for name, v in gain.items()) for words, gain in gains.items()]
    return Claim(
        statement=f"planted false cells are ranked better by at least {LEAST_AUC} of AUC in the mean, and worse by "
        f"more than {MOST_WORSE_AUC} in no kind of table",
        ours=f"{mean:+.3f}, at worst {min(each):+.3f}",
        holds=mean >= LEAST_AUC and min(each) >= -MOST_WORSE_AUC,
        note=f"{'. '.join(places).capitalize()}. Over as many free components: {wider:+.3f}.",
    )


def _cost(table: pd.DataFrame) -> Claim:
    times = table["seconds_auto"] / table["seconds_none"]
    return Claim(
        statement=f"a fit takes at most {MOST_TIMES:g} times the processor time",
        ours=f"{times.median():.1f} times in the median, {times.quantile(0.9):.1f} in nine of ten at most",
        holds=times.median() <= MOST_TIMES,
        note=f"In seconds {table['seconds_none'].median():.2f} and {table['seconds_auto'].median():.2f}.",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    names = list(dict.fromkeys(table["table"]))
    place = table["table"].map({name: -i for i, name in enumerate(names)})
    figure = new_figure(9.5, 5.0)
    panels = figure.subplots(1, 2, sharey=True)
    gains = {
        "held-out cells": ({"cells": BEST}, "nats per cell more than without noise components"),
        "AUC of false cells": ({"auc_lost": BEST, "auc_added": QUIET}, "more than without; false ones in grey"),
    }
    for ax, (title, (measures, words)) in zip(panels, gains.items(), strict=True):
        for measure, colour in measures.items():
            gain = table[f"{measure}_auto"].astype(float) - table[f"{measure}_none"].astype(float)
            ax.scatter(gain, place, s=9, color=colour)
        ax.axvline(0, color="black", lw=0.8)
        ax.set(title=title, xlabel=words)
    panels[0].set_yticks([-i for i in range(len(names))], names)
    return {"gains": figure}


EXPERIMENT = Experiment(
    title="Should the command line look for noise unless told otherwise",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
