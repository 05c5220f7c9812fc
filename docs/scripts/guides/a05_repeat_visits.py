"""
Repeat visits
=============

If sites were visited several times, the data themselves contain the detection rate: a species seen once is seen again,
or not. `RepeatedSurvey` estimates that rate together with which species occur together, and gives the probability that
a species is present although no visit has seen it.
"""

import latentbits as lb

truth = lb.simulate.repeated_surveys(150, 20, 3, rate=0.35, abundance=0.8, random_state=0)
truth.histories.shape  # sites x visits x species; NaN where a visit wasn't made

# %%
# To read a file with one line per sighting, use ``lb.read_histories("visits.csv", site="site", visit="day",
# species="species")``. Here the model gets two visits; the third is held out to check its predictions.

first_two, third = truth.histories[:, :2], truth.histories[:, 2]
survey = lb.RepeatedSurvey(random_state=0, n_jobs=2).fit(first_two)
survey.suspects(top=5).round(2)

# %%
# What is the detection rate? In this simulation a visit sees an individual with probability 0.35.

print(f"{survey.rate_:.2f}, with a standard error of {survey.rate_se_:.2f}")

# %%
# A species was missed twice; will the third visit see it? Cells without a sighting so far, grouped by the predicted
# probability, against the share that the third visit saw.

unseen = first_two.max(axis=1) == 0
predicted = survey.predict_proba(later_visits=1)
lb.plots.plot_reliability(lb.metrics.calibration_table(third[unseen], predicted[unseen], bins=25))

# %%
# Presence can't be checked in the field, as a species may be missed on every visit. Here the truth is known:

present = survey.predict_proba()
really = truth.abundance > 0
print(f"never seen on two visits: {unseen.sum()} cells, {really[unseen].sum()} of them present")
print(f"predicted to be present: {present[unseen].sum():.0f}")

# %%
# **What to trust.** The probability of being *seen later* can be checked by another visit. The probability of
# *presence* depends on an assumption about why species are missed: here, because they are few.
# :class:`~latentbits.RepeatedSurvey` lists its other assumptions.
#
# On the command line: ``latentbits repeat-visits visits.csv --long site species --visits day --top 20``.
