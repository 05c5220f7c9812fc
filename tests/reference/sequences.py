"""Slow twin of sequences to graphs: dictionaries and plain loops; nothing of latentbits is imported."""

from itertools import pairwise
from math import log


def first_order_counts(sequences):
    """{(i, j): how often j comes directly after i}."""
    counts = {}
    for ids in sequences:
        for before, now in pairwise(ids):
            counts[before, now] = counts.get((before, now), 0) + 1
    return counts


def posterior(sequences, weights, T):
    """[(probability of each lag, the ids at those lags, id now, likelihood)] of every step with a full past."""
    steps = []
    for ids in sequences:
        for t in range(len(weights), len(ids)):
            past = [ids[t - lag - 1] for lag in range(len(weights))]
            parts = [weight * T.get((before, ids[t]), 0.0) for weight, before in zip(weights, past, strict=True)]
            steps.append(([part / sum(parts) for part in parts], past, ids[t], sum(parts)))
    return steps


def em_step(sequences, weights, T):
    """New lag weights and transitions {(i, j): probability}, and the log likelihood of the given ones."""
    steps = posterior(sequences, weights, T)
    mass, leaving = {}, {}
    for q, past, now, _ in steps:
        for share, before in zip(q, past, strict=True):
            mass[before, now] = mass.get((before, now), 0.0) + share
            leaving[before] = leaving.get(before, 0.0) + share
    new = [sum(q[lag] for q, *_ in steps) / len(steps) for lag in range(len(weights))]
    return new, {pair: share / leaving[pair[0]] for pair, share in mass.items()}, sum(log(step[3]) for step in steps)


def simulate(weights, T, n_steps, rng):
    """A chain of 0 .. n-1: each step picks its lag by `weights` and follows that id's row of T."""
    ids = list(rng.integers(len(T), size=len(weights)))
    for _ in range(n_steps):
        lag = rng.choice(len(weights), p=weights) + 1
        ids.append(int(rng.choice(len(T), p=T[ids[-lag]])))
    return [int(i) for i in ids]
