"""Small public 0-1 tables, and which of them settings may be chosen on.

Typed tables are facts of published studies, in `tables/`: NAME.csv with a header, the first column labels where it
isn't 0-1. Row and column totals were checked against the published ones where these are printed (finches: Chen,
Diaconis, Holmes and Liu 2005; club women: 89 attendances; LSAT: 1000 candidates).

The halves are fixed by the alphabet, before any table was looked at: of the sorted names every other one, beginning
with the first, is for tuning, the rest for judging.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

FOLDER = Path(__file__).parent / "tables"

LSAT = "3 6 2 11 1 1 3 4 1 8 0 16 0 3 2 15 10 29 14 81 3 28 15 80 16 56 21 173 11 61 28 298"
"""Candidates by their answers to the five questions of LSAT section 6, 00000 to 11111 (Bock and Lieberman 1970)."""

ROLE_CONFLICT = "20 2 9 2 6 1 4 1 38 7 24 6 25 6 23 42"
"""Students by what they would do in four situations, 0000 to 1111 (Stouffer and Toby 1951; Goodman 1974)."""


class Table(NamedTuple):
    """Where a table comes from, and how it is made: an array of 0, 1 and -1 (missing)."""

    source: str
    make: Callable[[], np.ndarray]


def load(name: str) -> np.ndarray:
    """The table as int8, without constant columns and empty rows: nobody can be better or worse on those."""
    import numpy as np

    X = np.asarray(TABLES[name].make(), dtype=np.int8)
    varies = ((X == 1).any(axis=0)) & ((X == 0).any(axis=0))
    X = X[:, varies]
    return np.ascontiguousarray(X[(X != -1).any(axis=1)])


def _typed(name: str) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        import pandas as pd

        table = pd.read_csv(FOLDER / f"{name}.csv")
        return table.select_dtypes("number").to_numpy()

    return make


def _patterns(counts: str) -> Callable[[], np.ndarray]:
    """Rows of all patterns in the order of binary numbers, each as often as it was counted."""

    def make() -> np.ndarray:
        import numpy as np

        times = [int(count) for count in counts.split()]
        bits = len(times).bit_length() - 1
        patterns = np.arange(len(times))[:, None] >> np.arange(bits)[::-1] & 1
        return np.repeat(patterns, times, axis=0)

    return make


def _loaded(name: str) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        from latentbits import datasets

        return getattr(datasets, f"load_{name}")().data.dense()

    return make


def _digits() -> np.ndarray:
    from sklearn.datasets import load_digits

    return load_digits().data[:150] >= 8


def _wine() -> np.ndarray:
    import numpy as np
    from sklearn.datasets import load_wine

    values = load_wine().data
    return values > np.median(values, axis=0)


def _words() -> np.ndarray:
    from latentbits.datasets import load_newsgroups

    return load_newsgroups(per_group=40, n_words=60).data.dense()


def _fossils() -> np.ndarray:
    from latentbits.datasets import load_fossils

    return load_fossils(min_genera=10).data.dense()


def _sensors() -> np.ndarray:
    """Every hundredth minute, so that rows are hardly neighbours."""
    from latentbits.datasets import load_sensors

    return load_sensors().data.dense()[::100]


def _votes() -> np.ndarray:
    """Members of the United Nations by the roll calls of one session; abstentions and absences are missing."""
    from latentbits.datasets import load_votes

    calls = load_votes()
    return calls.data.dense()[calls.session == 60].T


TABLES: dict[str, Table] = {
    "aflp": Table("DNA bands of a plant pathogen; R package poppr", _loaded("aflp")),
    "club women": Table("Davis, Gardner and Gardner 1941, as in NetworkX", _typed("club_women")),
    "digits": Table("scikit-learn's digits, the first 150, pixels of at least 8", _digits),
    "dune": Table("dune meadow vegetation, presence; Jongman, ter Braak and van Tongeren 1987", _typed("dune")),
    "fossils": Table("fossil mammals, sites with ten genera; NOW database", _fossils),
    "grave goods": Table("graves of Münsingen-Rain, types of goods; Hodson 1968", _typed("grave_goods")),
    "island finches": Table("Darwin's finches on 17 islands; Sanderson 2000", _typed("island_finches")),
    "law test": Table("LSAT section 6; Bock and Lieberman 1970", _patterns(LSAT)),
    "monks": Table("who liked whom among 18 monks; Sampson 1968", _loaded("monks")),
    "role conflict": Table("Stouffer and Toby 1951", _patterns(ROLE_CONFLICT)),
    "sensors": Table("household sensors, every hundredth minute; UCI", _sensors),
    "votes": Table("roll calls of a session of the United Nations", _votes),
    "wine": Table("scikit-learn's wine, values above the median", _wine),
    "words": Table("words of 160 newsgroup posts", _words),
    "zoo": Table("101 animals; UCI, R. Forsyth", _typed("zoo")),
}

TUNING = tuple(sorted(TABLES)[::2])
JUDGING = tuple(sorted(TABLES)[1::2])
