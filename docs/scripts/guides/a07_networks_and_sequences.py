"""
Networks and sequences
======================

Who likes whom, which page links to which, who answers whom: a network is a 0-1 table whose rows and columns are the
same items. A sequence (speakers, pages, states) becomes a network by recording who follows whom.
"""

import numpy as np

import latentbits as lb

# %%
# A conversation in which three circles of people mostly answer each other.

rng = np.random.default_rng(0)
people = [f"{circle}{i}" for circle in "ABC" for i in range(8)]
talk, speaker = [], 0
for _ in range(1200):
    circle = speaker // 8 if rng.random() < 0.9 else rng.integers(3)
    speaker = int(circle * 8 + rng.integers(8))
    talk.append(people[speaker])

graph = lb.sequences.first_order_graph(talk, min_count=2)
graph.adjacency

# %%
# Rows are speakers, columns are those who speak next. A model of the rows finds the circles; each person has a weight
# on each of them.

model = lb.BetaICA(3, n_init=5, random_state=0).fit(graph.adjacency)
strongest = model.weights_.argmax(axis=1)
for k in range(3):
    print(k, sorted(str(graph.names[i]) for i in np.flatnonzero(strongest == k)))

# %%
# People and those whom they address, in one plane.

lb.plots.plot_ordination(model, groups=[str(name)[0] for name in graph.names], n_named=12)

# %%
# Missing links are false zeros of such a table: whom would they have answered if the conversation had continued?

model.suspects(graph.adjacency, top=5).round(2)

# %%
# **Delayed answers.** In a busy chat the answer to a message often isn't the next message.
# :func:`~latentbits.sequences.mixture_transition` estimates how many messages later answers come, and links those who
# answer each other.

later = lb.sequences.mixture_transition(talk, max_lag=3, n_init=1, random_state=0)
later.lag_weights.round(2)
