"""Data sets: one that ships with a dependency, and loaders of those that are kept in a folder of the user's."""

from latentbits.datasets.data_folder import data_folder
from latentbits.datasets.images import BinaryImages, load_alphadigits, load_digits, load_numerals
from latentbits.datasets.nature import (
    BirdSurvey,
    DNABands,
    Fossils,
    VisualFields,
    load_aflp,
    load_birds,
    load_fossils,
    load_visual_fields,
)
from latentbits.datasets.people import (
    Chat,
    HouseholdSensors,
    Monks,
    Newsgroups,
    RollCalls,
    load_chat,
    load_monks,
    load_newsgroups,
    load_sensors,
    load_votes,
)

__all__ = [
    "BinaryImages",
    "BirdSurvey",
    "Chat",
    "DNABands",
    "Fossils",
    "HouseholdSensors",
    "Monks",
    "Newsgroups",
    "RollCalls",
    "VisualFields",
    "data_folder",
    "load_aflp",
    "load_alphadigits",
    "load_birds",
    "load_chat",
    "load_digits",
    "load_fossils",
    "load_monks",
    "load_newsgroups",
    "load_numerals",
    "load_sensors",
    "load_visual_fields",
    "load_votes",
]
