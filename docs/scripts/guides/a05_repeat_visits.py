"""
Repeat visits
=============

If sites were visited several times, the data say by themselves how much a visit sees: what was seen once is seen
again, or not. `RepeatedSurvey` learns that rate together with which species go together, and gives the probability
that a species is present although no visit has seen it.
"""

import latentbits as lb

truth = lb.simulate.repeated_surveys(150, 20, 3, rate=0.35, abundance=0.8, random_state=0)
truth.histories.shape  # sites x visits x species; NaN where a visit wasn't made

# %%
# From a file with a line for each sighting: ``lb.read_histories("visits.csv", site="site", visit="day",
# species="species")``. Two visits are given here, and the third is kept to see whether the answers are right.

first_two, third = truth.histories[:, :2], truth.histories[:, 2]
survey = lb.RepeatedSurvey(random_state=0, n_jobs=2).fit(first_two)
survey.suspects(top=5).round(2)

# %%
# How much does a visit see of what is there? In this simulation an individual is seen with probability 0.35.

print(f"{survey.rate_:.2f}, with a standard error of {survey.rate_se_:.2f}")

# %%
# Two visits in vain; will the third see it? Cells that nobody has seen so far, by the predicted probability, beside
# the share that the third visit saw.

unseen = first_two.max(axis=1) == 0
predicted = survey.predict_proba(later_visits=1)
lb.plots.plot_reliability(lb.metrics.calibration_table(third[unseen], predicted[unseen], bins=25))

# %%
# Presence can't be checked in the field, as a species may be missed again and again. Here the truth is known:

present = survey.predict_proba()
really = truth.abundance > 0
print(f"never seen on two visits: {unseen.sum()} cells, {really[unseen].sum()} of them present")
print(f"predicted to be present: {present[unseen].sum():.0f}")

# %%
# **What to believe.** The probability of being *seen later* can be checked by going there. The probability of
# *presence* relies on why species are missed: here, because they are few. :class:`~latentbits.RepeatedSurvey` says
# what else it takes for granted.
#
# On the command line: ``latentbits repeat-visits visits.csv --long site species --visits day --top 20``.
