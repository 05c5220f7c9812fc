"""Ages of the genera of each aspect (figure 5b): rank-sum tests of all pairs of aspects.

The paper prints P values of at most .0201 for all pairs of four aspects of its fossils, one of them a white phantom. It
weights genera by a_tk, and doesn't say how the test does: here each genus belongs to the aspect with content that has
the largest a_tk, and a genus is as old as its sites are on average. Aspects with fewer than three genera are left out.

The rule, written before the run: of four aspects (ten restarts, five seeds) the largest P value of a pair is at most
.0201 in most seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, count_of

if TYPE_CHECKING:
    import pandas as pd

PRINTED = 0.0201
LEAST_GENERA = 3


def jobs(full: bool) -> list[dict[str, Any]]:
    return [{"k": 4, "seed": seed} for seed in range(5 if full else 1)]


def run(k: int, seed: int) -> list[dict[str, Any]]:
    from itertools import combinations

    import numpy as np
    from scipy.stats import mannwhitneyu

    from experiments.ab._shared import aspects
    from latentbits import associations, datasets

    fossils = datasets.load_fossils()
    X = fossils.data.dense()
    age = X.T @ fossils.age / X.sum(axis=0)
    model = aspects(k, "free", 1, 10, seed).fit(X)
    content = np.flatnonzero(np.array(model.phantoms_) == "content")
    strongest = content[model.components_[content].argmax(axis=0)]
    groups = {i: age[strongest == i] for i in content if (strongest == i).sum() >= LEAST_GENERA}
    skill = associations(model.weights_, {"age": fossils.age}).set_index("component")["skill"]
    return [
        {
            "first": int(i),
            "second": int(j),
            "p": float(mannwhitneyu(groups[i], groups[j]).pvalue),
            "genera": len(groups[i]) + len(groups[j]),
            "skill": float(skill[content].max()),
        }
        for i, j in combinations(groups, 2)
    ]


def judge(table: pd.DataFrame) -> list[Claim]:
    largest = table.groupby("seed")["p"].max()
    small = largest <= PRINTED
    return [
        Claim(
            statement="ages of the genera of all pairs of four aspects differ (rank-sum tests, largest P)",
            paper=f"at most {PRINTED}",
            ours=f"{count_of(small)}; largest {largest.max():.2g}; age predicts {table['skill'].max():.2f} of a weight",
            holds=small.mean() > 0.5,
            condition="each genus with its strongest aspect",
        )
    ]


EXPERIMENT = Experiment(title="Ages of the genera of each aspect (figure 5b)", jobs=jobs, run=run, judge=judge)
