"""Corroded numerals, 500 for training and 500 unseen: denoising against the number of components (figures 8 to 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.bica._shared import BBICA, BICA, MODELS, OTHERS, OUR_LPCA, THE_OTHERS
from experiments.runner import Claim, Experiment, count_of, mean_sd, median_range

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from experiments.bica._shared import Corroded

HALF = 500
COMPARABLE = 0.02
"""Areas under the curve that differ by no more than this are called alike."""

UP_TO = 15
"""Components up to which the two are compared as well."""

WIDE = 0.05
"""How much they may vary over the orders that are called a wide range."""


def jobs(full: bool) -> list[dict[str, Any]]:
    orders, seeds = ((3, 5, 8, 10, 15, 20, 25), range(3)) if full else ((5, 15), range(1))
    return [{"model": model, "k": k, "seed": seed} for seed in seeds for k in orders for model in MODELS]


def run(model: str, k: int, seed: int) -> list[dict[str, Any]]:
    from experiments.bica._shared import corroded_numerals, denoised_rows, fitted, split

    train, unseen = split(corroded_numerals(seed), HALF, HALF, seed)
    found = fitted(model, k, train.noisy, seed)
    rows = denoised_rows(model, found, {"weak": train, "strong": unseen})
    return rows + verbatim_rows(model, found, train)


def verbatim_rows(name: str, model: Any, images: Corroded) -> list[dict[str, Any]]:
    """How well the corroded images themselves are reconstructed, over all pixels."""
    from sklearn.metrics import roc_auc_score

    from experiments.bica._shared import reconstructions

    truth = images.noisy.ravel()
    return [
        {"denoising": "verbatim", "method": method, "grey": roc_auc_score(truth, grey.ravel())}
        for method, grey in reconstructions(name, model, images.noisy).items()
    ]


def judge(table: pd.DataFrame) -> list[Claim]:
    scores = dict(list(table.groupby("denoising")))
    return [
        _processing_helps(scores["weak"], "BICA", "weak"),
        _processing_helps(scores["weak"], "bBICA", "weak"),
        _processing_helps(scores["strong"], "bBICA", "strong"),
        _alike(scores["weak"]),
        _alike(scores["weak"], UP_TO),
        _wide_range(scores["weak"]),
        _unseen_is_as_good(scores["weak"], scores["strong"]),
        *(_best_in_grey(scores[part], part) for part in ("weak", "strong")),
        *(_best_in_binary(scores[part], part) for part in ("weak", "strong")),
        _verbatim(scores["verbatim"]),
    ]


def _curves(rows: pd.DataFrame, score: str = "grey") -> pd.DataFrame:
    """Means over the seeds: orders x methods."""
    return rows.pivot_table(index="k", columns="method", values=score)


def _processing_helps(rows: pd.DataFrame, name: str, part: str) -> Claim:
    wide = rows.pivot_table(index=["k", "seed"], columns="method", values="grey")
    gain = wide[f"{name}, processed"] - wide[name]
    return Claim(
        result="BICA 2",
        statement=f"figure 8: removing the blank components raises the AUC of {name}, {part}",
        paper="it does at all K",
        ours=f"+{mean_sd(gain, 3)}, raised in {count_of(gain > 0)} fits",
        holds=(gain > 0).all(),
    )


def _alike(rows: pd.DataFrame, up_to: int | None = None) -> Claim:
    curves = _curves(rows).loc[:up_to]
    changed = f"up to {up_to} components: " if up_to else ""
    gap = (curves[BICA] - curves[BBICA]).abs()
    return Claim(
        result="BICA 2",
        statement=f"{changed}processed BICA and bBICA do alike in weak denoising (within {COMPARABLE} at every K)",
        paper="similar",
        ours=f"at most {gap.max():.3f} apart (K = {gap.idxmax()})",
        holds=(gap <= COMPARABLE).all(),
        instead=bool(up_to),
        note="With more than 15 components bBICA, whose prior on the weights is uniform, loses to BICA. The largest "
        "distance over K of means over splits is judged; the figure has the curves",
    )


def _wide_range(rows: pd.DataFrame) -> Claim:
    curves = _curves(rows).loc[5:, [BICA, BBICA]]
    span = curves.max() - curves.min()
    return Claim(
        result="BICA 2",
        statement=f"both are accurate over a wide range of K (5 to 25: varying by at most {WIDE})",
        paper="accurate over a wide range",
        ours=", ".join(f"{name} {curves[name].min():.3f} to {curves[name].max():.3f}" for name in curves),
        holds=(span <= WIDE).all(),
        note="K = 3 is left out of the range: five numerals and the noise need more",
    )


def _unseen_is_as_good(weak: pd.DataFrame, strong: pd.DataFrame) -> Claim:
    loss = _curves(weak)[BBICA] - _curves(strong)[BBICA]
    return Claim(
        result="BICA 2",
        statement=f"strong denoising is no worse than weak (bBICA, processed: by no more than {COMPARABLE} at any K)",
        paper="no inferior",
        ours=f"weak minus strong {median_range(loss, 3)}",
        holds=(loss <= COMPARABLE).all(),
    )


def _best_in_grey(rows: pd.DataFrame, part: str) -> Claim:
    mean = _curves(rows).mean()
    lead = mean[BBICA] - mean[list(OTHERS)]
    return Claim(
        result="BICA 2",
        statement=f"grey scale, {part}: processed bBICA is best, or comparable with logistic PCA (mean AUC over K)",
        paper="comparable with logistic PCA, above the others",
        ours=_ranking(rows, "grey"),
        holds=lead["logistic PCA"] >= -COMPARABLE and (lead.drop("logistic PCA") > 0).all(),
        better=lead.min() > COMPARABLE,
        condition=OUR_LPCA,
        note=f"comparable: within {COMPARABLE}; better if ahead of all by more. {THE_OTHERS}",
    )


def _best_in_binary(rows: pd.DataFrame, part: str) -> Claim:
    curves = _curves(rows, "binary")
    lead = curves[BBICA] - curves[list(OTHERS)].max(axis=1)
    return Claim(
        result="BICA 2",
        statement=f"binary images, {part}: processed bBICA is best at every K",
        paper="net superior",
        ours=f"{_ranking(rows, 'binary')}; best at {count_of(lead > 0)} K, ahead by {median_range(lead, 3)}",
        holds=(lead > 0).all(),
        condition=OUR_LPCA,
        note=f"K is judged on means over splits. {THE_OTHERS}",
    )


def _ranking(rows: pd.DataFrame, score: str) -> str:
    """The methods by their mean over K, with the standard deviation over all fits."""
    methods = _curves(rows, score).mean().sort_values(ascending=False).index
    return "; ".join(f"{method} {mean_sd(rows.loc[rows['method'] == method, score], 3)}" for method in methods)


def _verbatim(rows: pd.DataFrame) -> Claim:
    curves = _curves(rows)
    first = curves["logistic PCA"] >= curves[list(OTHERS)].max(axis=1)
    poorer = (curves[BBICA] < curves["bBICA"]) & (curves[BICA] < curves["BICA"])
    return Claim(
        result="BICA 2",
        statement="figure 11: logistic PCA is best at giving back the corroded images; processing makes that worse",
        paper="so",
        ours=f"best at {count_of(first)} K, processing worse at {count_of(poorer)} K; {_ranking(rows, 'grey')}",
        holds=first.all() and poorer.all(),
        condition=OUR_LPCA,
        note="AUC over all pixels of the training images",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from experiments.bica._shared import draw_lines
    from latentbits.plots.style import new_figure, whole_numbers

    figure = new_figure(9.5, 7)
    panels = figure.subplots(2, 2, sharex=True, sharey="col")
    for axes, part in zip(panels, ("weak", "strong"), strict=True):
        rows = table[table["denoising"] == part]
        for ax, (score, words) in zip(axes, {"grey": "grey scale", "binary": "cut at 1/2"}.items(), strict=True):
            draw_lines(ax, rows, "k", score)
            ax.set_title(f"{part} denoising, {words}")
            ax.xaxis.set_major_locator(whole_numbers())
        axes[0].set_ylabel("AUC at the pixels that are off")
    for ax in panels[-1]:
        ax.set_xlabel("components")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside right center")
    return {"auc": figure}


EXPERIMENT = Experiment(
    title="Corroded numerals: denoising of training and unseen images against the number of components",
    results=("BICA 2",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
