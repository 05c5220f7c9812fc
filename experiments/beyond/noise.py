"""Is noise found where it is present, and only there: `noise="auto"` on planted false zeros and ones, and on fossils.

Rules of judgement, written before the run. Tables have 4 components (Dirichlet weights of concentration 0.3), dense
(half ones) or sparse (15 % of a component's columns at 0.5 to 0.95, the others at 0.01), 200 x 50 or 300 x 100. Ones
are lost at rates up to 0.6, or added at rates up to 0.3 (0.4 in 40 % of the rows), by row, by column, or by both.

- With the true number of components: black noise is found in at least 95 % of the tables of 300 x 100 and 75 % of those
  of 200 x 50 that have it; white noise in at least 90 %. Noise by column alone is shown but not judged: it changes how
  often components have a column, which content can say as well.
- Clean tables, with as many components or one more: black is kept in at most 2 %, white in at most 5 %.
- False ones are ranked better than by free components (the same number in all): by at least 0.04 of AUC in the mean.
- Fossils as they are, 3 components with content: white is kept and black isn't. With ones added to 40 % of the rows at
  rates up to 0.4: black causes at least 0.7 of the added ones and at most 0.25 of the true ones, and AIC is better than
  that of as many free components.

What a noise component must gain was chosen on tables of the seeds 10000 to 10039, none of which is used here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, count_of, mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from latentbits import AspectBernoulli
    from latentbits.simulate import FalseCells

KINDS: dict[str, dict[str, Any]] = {
    "clean": {},
    "white by row": {"white": 0.6},
    "white by column": {"white": 0.6, "by": "column"},
    "white by both": {"white": 0.6, "by": "both"},
    "black by row": {"black": 0.3},
    "black in 40 % of the rows": {"black": 0.4, "noisy_rows": 0.4},
    "black by column": {"black": 0.3, "by": "column"},
    "black by both": {"black": 0.3, "by": "both"},
    "white and black by row": {"white": 0.6, "black": 0.3},
}
"""What `simulate.add_noise` is told."""

SHAPES = ((200, 50), (300, 100))
CONTENTS = ("dense", "sparse")
TRUE_K, CONCENTRATION, RESTARTS = 4, 0.3, 3
FOSSILS = "fossils"


def jobs(full: bool) -> list[dict[str, Any]]:
    planted = [
        {"rows": rows, "columns": columns, "content": content, "kind": kind, "extra": extra, "seed": seed}
        for extra in (0, 1, 3)
        for kind in KINDS
        for rows, columns in SHAPES
        for content in CONTENTS
        for seed in range(_seeds(kind, extra, rows) if full else int(extra == 0))
    ]
    fossils = [
        {"rows": 501, "columns": 139, "content": FOSSILS, "kind": kind, "extra": 0, "seed": seed}
        for kind in ("clean", "black in 40 % of the rows")
        for seed in range(2 if full else 1)
    ]
    return [*planted, *fossils]


def _seeds(kind: str, extra: int, rows: int) -> int:
    """Most for what the rules are about, and fewer of the larger tables."""
    small = rows == SHAPES[0][0]
    if kind == "clean" and extra <= 1:
        return (24 if small else 9) if extra == 0 else (12 if small else 5)
    if extra:
        return 2 if small else 1
    return 3 if kind.endswith("column") else 9 if small else 6


def run(rows: int, columns: int, content: str, kind: str, extra: int, seed: int) -> list[dict[str, Any]]:
    from sklearn.metrics import roc_auc_score

    from latentbits import AspectBernoulli

    k = 3 if content == FOSSILS else TRUE_K + extra
    noisy = _table(rows, columns, content, kind, seed)
    X = noisy.X
    model = AspectBernoulli(k, smoothing=0, noise="auto", n_init=RESTARTS, random_state=seed).fit(X)
    trials = model.noise_trials_.set_index("model")
    row: dict[str, Any] = {"ones": float(X.mean())}
    row |= {f"kept_{noise}": noise in model.phantoms_ for noise in ("white", "black")}
    row |= {f"gain_{name}": trials["gain_per_row"][name] for name in ("white", "black", "both")}
    row |= {f"needed_{name}": trials["needed"][name] for name in ("white", "black")}
    if noisy.added.any() and (extra == 0):
        free = AspectBernoulli(len(model.components_), smoothing=0, n_init=RESTARTS, random_state=seed).fit(X)
        ones = X == 1
        for name, one in (("auto", model), ("free", free)):
            row[f"auc_{name}"] = roc_auc_score(noisy.added[ones], one.suspicion(X, kind="presence")[ones])
            row[f"aic_{name}"] = one.aic(X)
        black = _caused_by_black(model)
        row |= {"black_of_added": black[noisy.added].mean(), "black_of_true": black[ones & ~noisy.added].mean()}
    return [row]


def _table(rows: int, columns: int, content: str, kind: str, seed: int) -> FalseCells:
    import numpy as np

    from latentbits import simulate

    if content == FOSSILS:
        from experiments.ab._shared import noisy_table

        clean = noisy_table("fossils", "", seed).X
        return simulate.add_noise(clean, **KINDS[kind], random_state=seed)
    rng = np.random.default_rng([seed, rows, list(KINDS).index(kind), CONTENTS.index(content)])
    shape = (TRUE_K, columns)
    H = rng.beta(0.5, 0.5, shape)
    if content == "sparse":
        H = np.where(rng.random(shape) < 0.15, rng.uniform(0.5, 0.95, shape), 0.01)
    P = rng.dirichlet(np.full(TRUE_K, CONCENTRATION), rows) @ H
    return simulate.add_noise((rng.random(P.shape) < P).astype(np.int8), **KINDS[kind], random_state=rng)


def _caused_by_black(model: AspectBernoulli) -> np.ndarray:
    """The probability that black noise caused each cell, if it is a 1."""
    is_black = model.phantoms_ == "black"
    by_black = model.weights_[:, is_black] @ model.components_[is_black]
    share: np.ndarray = by_black / (model.weights_ @ model.components_)
    return share


def judge(table: pd.DataFrame) -> list[Claim]:
    planted = table[table["content"] != FOSSILS]
    at_truth = planted[planted["extra"] == 0]
    judged = at_truth[~at_truth["kind"].str.contains("column")]
    clean = planted[(planted["kind"] == "clean") & (planted["extra"] <= 1)]
    white = judged[judged["kind"].str.contains("white")]["kept_white"].astype(bool)
    claims = [_black_recall(judged, 300, 0.95), _black_recall(judged, 200, 0.75)]
    claims.append(
        Claim(
            statement="white noise is found in at least 90 % of the tables that have it",
            ours=f"{count_of(white)} ({white.mean():.0%})",
            holds=white.mean() >= 0.9,
            note=_missed(judged, "white"),
        )
    )
    for noise, most in (("black", 0.02), ("white", 0.05)):
        kept = clean[f"kept_{noise}"].astype(bool)
        claims.append(
            Claim(
                statement=f"clean tables, K true or one more: {noise} is kept in at most {most:.0%}",
                ours=f"{count_of(kept)} ({kept.mean():.1%})",
                holds=kept.mean() <= most,
                note=_elsewhere(planted, noise),
            )
        )
    return [*claims, _ranking(at_truth), *_fossils(table[table["content"] == FOSSILS])]


def _black_recall(judged: pd.DataFrame, rows: int, least: float) -> Claim:
    group = judged[(judged["rows"] == rows) & judged["kind"].str.contains("black")]
    kept = group["kept_black"].astype(bool)
    return Claim(
        statement=f"black noise is found in at least {least:.0%} of the tables with {rows} rows that have it",
        ours=f"{count_of(kept)} ({kept.mean():.0%})",
        holds=kept.mean() >= least,
        note=_missed(group, "black"),
    )


def _missed(table: pd.DataFrame, noise: str) -> str:
    """Where the noise that is there was not found."""
    missed = table[table["kind"].str.contains(noise) & ~table[f"kept_{noise}"].astype(bool)]
    counts = missed.groupby(["rows", "content", "kind"], sort=False).size()
    places = [f"{kind} ({content}, {rows} rows) {n}" for (rows, content, kind), n in counts.items()]
    return f"Missed: {'; '.join(places)}." if places else "None was missed."


def _elsewhere(planted: pd.DataFrame, noise: str) -> str:
    """How often it is kept where it isn't, but the other noise is, and with three components too many."""
    other = planted[~planted["kind"].str.contains(noise)]
    noisy, many = other[other["kind"] != "clean"], other[(other["kind"] == "clean") & (other["extra"] == 3)]
    counts = [count_of(part[f"kept_{noise}"].astype(bool)) for part in (noisy, many)]
    return f"Of tables with the other noise only: {counts[0]}; of clean ones with three components more: {counts[1]}."


def _ranking(at_truth: pd.DataFrame) -> Claim:
    both = at_truth[at_truth["auc_auto"].notna() & at_truth["kind"].str.startswith("black")]
    gain = both["auc_auto"] - both["auc_free"]
    by_kind = gain.groupby(both["kind"], sort=False).mean()
    return Claim(
        statement="false ones are ranked better than by as many free components, by at least 0.04 of AUC in the mean",
        ours=f"{both['auc_auto'].mean():.3f} against {both['auc_free'].mean():.3f}: {gain.mean():+.3f}",
        holds=gain.mean() >= 0.04,
        note="; ".join(f"{kind}: {value:+.3f}" for kind, value in by_kind.items()) + ".",
    )


def _fossils(table: pd.DataFrame) -> list[Claim]:
    clean, noisy = table[table["kind"] == "clean"], table[table["kind"] != "clean"]
    only_white = clean["kept_white"].astype(bool) & ~clean["kept_black"].astype(bool)
    added, true = noisy["black_of_added"], noisy["black_of_true"]
    better = noisy["aic_auto"] < noisy["aic_free"]
    return [
        Claim(
            statement="fossils as they are: white noise and no black",
            ours=count_of(only_white),
            holds=bool(only_white.all()),
        ),
        Claim(
            statement="fossils with ones added: black causes at least 0.7 of them, at most 0.25 of the true ones, "
            "and AIC is better than that of free components",
            ours=f"{mean_sd(added)} of the added, {mean_sd(true)} of the true; AIC better in {count_of(better)}",
            holds=bool((added >= 0.7).all() and (true <= 0.25).all() and better.all()),
        ),
    ]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    planted = table[(table["content"] != FOSSILS) & (table["extra"] == 0)]
    figure = new_figure(9.5, 4.2)
    panels = figure.subplots(1, 2, sharey=True)
    for ax, noise in zip(panels, ("white", "black"), strict=True):
        other = "black" if noise == "white" else "white"
        for place, kind in enumerate(KINDS):
            group = planted[planted["kind"] == kind]
            beside = group[f"gain_{other}"].where(group[f"kept_{other}"].astype(bool), 0.0)
            with_it = group["gain_both"].where(group[f"kept_{other}"].astype(bool), group[f"gain_{noise}"])
            spare = with_it - beside - group[f"needed_{noise}"]
            ax.scatter(spare, [place] * len(group), s=9, color=BEST if noise in kind else QUIET)
        ax.axvline(0, color="black", lw=0.8)
        ax.set(title=f"{noise} noise", xlabel="gain beyond what is needed, nats per row")
        ax.set_yticks(range(len(KINDS)), list(KINDS))
    return {"gains": figure, "kept": _kept_shares(table[table["content"] != FOSSILS])}


def _kept_shares(planted: pd.DataFrame) -> Figure:
    """How often each noise component is kept: a table of noise kinds by content and components too many."""
    import numpy as np

    from latentbits.plots.style import new_figure

    figure = new_figure(9.5, 4.6)
    panels = figure.subplots(1, 2, sharey=True)
    for ax, noise in zip(panels, ("white", "black"), strict=True):
        kept = planted.assign(kept=planted[f"kept_{noise}"].astype(float))
        shares = kept.pivot_table(index="kind", columns=["content", "extra"], values="kept", sort=False)
        shares = shares.loc[list(KINDS)].sort_index(axis=1)
        ax.imshow(shares, cmap="Greys", vmin=0, vmax=1.6, aspect="auto")
        for (y, x), share in np.ndenumerate(shares.to_numpy()):
            ax.text(x, y, f"{share:.0%}", ha="center", va="center", fontsize=8)
        names = [f"{content}\n+{extra}" if extra else f"{content}\nK true" for content, extra in shares.columns]
        ax.set(title=f"{noise} noise is kept in")
        ax.set_xticks(range(len(names)), names)
        ax.set_yticks(range(len(KINDS)), list(KINDS))
    return figure


EXPERIMENT = Experiment(
    title="Is noise found when it is there: planted false zeros and ones, and fossils",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
