"""Could restarts that will lose be stopped early? What a race among the starts of AspectBernoulli would save and cost.

    LATENTBITS_DATA=folder python benchmarks/racing.py [--quick]

Every start is run to its end; a race is then played with the recorded objectives. Its rule: after `passes` passes of
all starts those are stopped that are further behind the best than `margin` times the best one's rise since its fifth
pass. For each number of passes the margin is the least one at which no fit of the seeds 0 and 1 loses its winner. It is
judged on the seeds 2 to 5: how many winners are stopped, how much likelihood that costs, how many passes are saved.
As `suspects` averages over all restarts, the last column is the correlation by rank of the zeros' mean reconstruction
by the restarts that a race leaves with that by all (the worst of the four seeds).
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from result_tables import write
from scipy.stats import spearmanr

from latentbits import BinaryData, datasets, simulate
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood

STARTS, MAX_ITER, EARLY = 10, 600, 5
PASSES = (30, 60, 120)
CHOICE, JUDGEMENT = (0, 1), (2, 3, 4, 5)


def main() -> None:
    """Run all starts, choose the margins, judge them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one data set: does it run?")
    quick = parser.parse_args().quick
    chosen = {name: data for name, data in problems().items() if not quick or name == "simulated"}
    runs = {(name, seed): run_starts(*data, seed) for name, data in chosen.items() for seed in CHOICE + JUDGEMENT}
    rows = []
    for passes in PASSES:
        margin = max(needed_margin(run, passes) for (_, seed), run in runs.items() if seed in CHOICE)
        for name in chosen:
            rows.append(
                {"passes": passes, "margin": round(margin, 3), "data": name} | judged(runs, name, passes, margin)
            )
    table = pd.DataFrame(rows)
    print(table.to_string(index=False))
    write("racing", "A race among restarts", {"Seeds that the margin was not chosen on": table}, quick=quick)


def problems() -> dict[str, tuple[BinaryData, int]]:
    """Data sets, each with a number of components."""
    birds = datasets.load_birds()
    tables: dict[str, tuple[Any, int]] = {
        "simulated": (simulate.aspect_bernoulli(300, 60, 5, random_state=0).X, 5),
        "fossils": (datasets.load_fossils().data, 6),
        "digits": (datasets.load_digits(digits=[0, 1, 2]).X, 6),
        "birds": (birds.visit(1), 6),
        "votes": (datasets.load_votes().data.rows(slice(5600, 6202)), 4),
    }
    return {name: (BinaryData.of(X), K) for name, (X, K) in tables.items()}


def run_starts(data: BinaryData, K: int, seed: int) -> dict[str, Any]:
    """The objective of every start after each pass, and what each makes of the zeros."""
    n_cells = float(data.observed_per_row().sum())
    learner = MaximumLikelihood(data, np.ones(data.shape[0]), K, Workers())
    histories, scores, zeros = [], [], data.dense() == 0
    for start in np.random.default_rng(seed).integers(2**31, size=STARTS):
        monitor = Monitor(1e-6, MAX_ITER, n_cells)
        state, _ = climb(learner, learner.initialise(np.random.default_rng(start)), monitor)
        histories.append(np.array(monitor.history))
        scores.append((state.W @ state.H)[zeros])
    return {"histories": histories, "scores": scores}


def behind(run: dict[str, Any], passes: int) -> np.ndarray:
    """How far each start is behind the best after so many passes (or at its end), in units of the best one's rise."""
    now = np.array([history[: passes + 1][-1] for history in run["histories"]])
    best = run["histories"][int(now.argmax())]
    return (now.max() - now) / max(now.max() - best[min(EARLY, len(best) - 1)], 1e-12)


def needed_margin(run: dict[str, Any], passes: int) -> float:
    """The least margin at which the winner is not stopped."""
    return float(behind(run, passes)[winner(run)])


def winner(run: dict[str, Any]) -> int:
    """The start that ends highest."""
    return int(np.argmax([history[-1] for history in run["histories"]]))


def judged(runs: dict[tuple[str, int], dict[str, Any]], name: str, passes: int, margin: float) -> dict[str, Any]:
    """What the race does to one data set, on the seeds of the judgement."""
    stopped_winners, lost, saved, agreement = 0, 0.0, [], []
    for run in (runs[name, seed] for seed in JUDGEMENT):
        left = behind(run, passes) <= margin
        ends = np.array([history[-1] for history in run["histories"]])
        lengths = np.array([len(history) for history in run["histories"]])
        stopped_winners += not left[winner(run)]
        lost = max(lost, float(ends.max() - ends[left].max()) / abs(float(ends.max())))
        saved.append(1 - np.where(left, lengths, np.minimum(lengths, passes)).sum() / lengths.sum())
        some, every = (np.mean(scores, axis=0) for scores in (np.array(run["scores"])[left], run["scores"]))
        agreement.append(float(spearmanr(some, every).statistic))
    return {
        "winners stopped": f"{stopped_winners} of {len(JUDGEMENT)}",
        "likelihood lost": f"{lost:.1e}",
        "passes saved": f"{np.mean(saved):.0%}",
        "rank agreement of suspicion": f"{min(agreement):.3f}",
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
