"""The common runner of all experiments; what an experiment needs of it is imported from here."""

from experiments.runner.claims import Claim, count_of, mean_sd, median_range
from experiments.runner.experiment import Experiment

__all__ = ["Claim", "Experiment", "count_of", "mean_sd", "median_range"]
