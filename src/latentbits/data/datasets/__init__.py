"""Data sets: one that ships with a dependency, and loaders of those that are kept in a folder of the user's.

folder.py knows the folder and refuses files that aren't what they should be; the others hold the loaders by kind.
"""

from latentbits.data.datasets.folder import data_folder
from latentbits.data.datasets.images import BinaryImages, load_alphadigits, load_digits, load_numerals
from latentbits.data.datasets.nature import (
    BirdSurvey,
    DNABands,
    Fossils,
    VisualFields,
    load_aflp,
    load_birds,
    load_fossils,
    load_visual_fields,
)
from latentbits.data.datasets.people import HouseholdSensors, Monks, RollCalls, load_monks, load_sensors, load_votes
from latentbits.data.datasets.text import Chat, Newsgroups, load_chat, load_newsgroups

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
