"""The common runner of all experiments; experiments import what they need from here."""

from experiments.runner.claims import Algorithm, Claim, Reason, count_of, mean_sd, median_range
from experiments.runner.experiment import Experiment

__all__ = ["Algorithm", "Claim", "Experiment", "Reason", "count_of", "mean_sd", "median_range"]
