"""The Royle-Nichols model in plain loops: a site has k individuals, Poisson distributed, and each is seen or not.

Every answer is a ratio of probabilities of whole histories, and that of a history is a sum over k, term by term.
"""

import itertools
import math

MOST = 400
"""Individuals that are summed over; enough for the abundances that tests use."""


def history_probability(history, abundance, rate):
    """Of seeing (1) and not seeing (0) the species in this order; `history` is a sequence of 0 and 1."""
    total = 0.0
    for k in range(MOST):
        term = math.exp(k * math.log(abundance) - abundance - math.lgamma(k + 1)) if abundance else float(k == 0)
        overlooked = (1.0 - rate) ** k
        for seen in history:
            term *= 1.0 - overlooked if seen else overlooked
        total += term
    return total


def ever_seen(n_visits, abundance, rate):
    """Probability that at least one of the visits sees the species, summed over all histories that do."""
    histories = itertools.product((0, 1), repeat=n_visits)
    return sum(history_probability(history, abundance, rate) for history in histories if any(history))


def present_if_never_seen(n_visits, abundance, rate):
    """Probability that there is an individual, given that none of the visits saw one."""
    absent = math.exp(-abundance)
    never = history_probability([0] * n_visits, abundance, rate)
    return (never - absent) / never


def seen_later(history, n_later, abundance, rate):
    """Probability that at least one of `n_later` more visits sees the species, given the history so far."""
    more = [later for later in itertools.product((0, 1), repeat=n_later) if any(later)]
    joint = sum(history_probability([*history, *later], abundance, rate) for later in more)
    return joint / history_probability(history, abundance, rate)


def occupancy_probability(history, abundance, rate):
    """Of a history where a species that is there, with probability 1 - exp(-abundance), is seen with the rate."""
    there = 1.0
    for seen in history:
        there *= rate if seen else 1.0 - rate
    absent = math.exp(-abundance)
    return (1.0 - absent) * there + (0.0 if any(history) else absent)
