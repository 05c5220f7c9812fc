"""The files that loaders read, and what tests of several loaders share."""

import re

import numpy as np

FILES = {
    "load_aflp": "aflp_aeut.csv",
    "load_alphadigits": "binaryalphadigs.npz",
    "load_birds": "mhb2014.npz",
    "load_chat": "irc_speakers.csv.gz",
    "load_fossils": "now_g10s2.csv",
    "load_monks": "sampson_monks.npz",
    "load_newsgroups": "news20_4groups.npz",
    "load_numerals": "mfeat_pix.npz",
    "load_sensors": "ordonezA_1min.npz",
    "load_visual_fields": "visual_fields_24d2.csv",
    "load_votes": "un_votes.npz",
}
DOWNLOADED = ("load_newsgroups", "load_numerals")


def sentence(error):
    """The message, which must be one sentence."""
    text = str(error.value)
    assert "\n" not in text
    assert not re.search(r"\. [A-Z]", text)
    return text


def numerals():
    """Arrays as in mfeat_pix.npz, of two tiny images."""
    return {"X": np.array([[0, 3, 4, 6, 0, 0]] * 2, np.uint8), "y": np.array([1, 7]), "image_shape": np.array([2, 3])}
