"""Fossil mammals, Swiss birds, DNA bands of a plant pathogen, and visual fields of the human eye."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latentbits.data.binary_data import BinaryData
from latentbits.data.histories import Histories
from latentbits.data.readers import read_table
from latentbits.datasets.data_folder import Numbers, Source, Words

_FOSSILS = Source(
    "now_g10s2.csv",
    "the NOW database of fossil mammals (a row per site, with site, MN, age_Ma, known_age and a 0-1 column per genus)",
)
_BIRDS = Source(
    "mhb2014.npz",
    "MHB2014 of the R package AHMbook as the arrays counts and detections (sites x visits x species, -1 where not "
    "surveyed), species, latin, site_id, elev and forest",
)
_AFLP = Source(
    "aflp_aeut.csv", "Aeut of the R package poppr (one row per isolate, with isolate, pop, subpop and 56 0-1 bands)"
)
_VISUAL_FIELDS = Source(
    "visual_fields_24d2.csv",
    "vfctrSunyiu24d2, vfpwgRetest24d2 and vfpwgSunyiu24d2 of the R package visualFields (one table, with the columns "
    "source, and group: healthy or glaucoma)",
)
_LOCATIONS = [f"l{i}" for i in range(1, 55)]
_BLIND_SPOT = ["l26", "l35"]


@dataclass(frozen=True, eq=False)
class Fossils:
    """Which genera of mammals were found where, a site a row.

    Attributes
    ----------
    data : BinaryData, sites x genera
        1 where the genus was found; with the names of sites and genera.
    age : ndarray of float, shape (n_sites,)
        Million years before present.
    unit : ndarray of int, shape (n_sites,)
        Unit of the European mammal time scale (MN), 1 the oldest.
    dated : ndarray of bool, shape (n_sites,)
        Whether the source calls the age known; the others are estimates.
    """

    data: BinaryData
    age: NDArray[np.float64]
    unit: NDArray[np.int_]
    dated: NDArray[np.bool_]


def load_fossils(*, min_genera: int = 2) -> Fossils:
    """Return 139 genera of fossil mammals at 501 European sites, 2 to 23 million years old.

    The file now_g10s2.csv is read from the folder that LATENTBITS_DATA names.

    Parameters
    ----------
    min_genera : int, default=2
        Leave out sites with fewer genera. Each site has at least 2; 124 of them have at least 10.

    Returns
    -------
    Fossils
        Sites x genera, with the sites' ages.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: NOW, the database of fossil mammals, as selected for a study of seriation (Puolamäki, Fortelius and Mannila,
    PLoS Computational Biology 2, 2006): genera of about ten sites or more. Licence: CC BY 2.5.

    Examples
    --------
    >>> from latentbits.datasets import load_fossils
    >>> load_fossils().data  # doctest: +SKIP
    BinaryData(501 rows x 139 columns, 3537 ones, 0 missing)
    """
    about = _FOSSILS.columns({"MN": int, "age_Ma": float, "known_age": int})
    data = read_table(_FOSSILS.path(), row_labels="site", exclude=list(about))
    rich = data.ones_per_row() >= min_genera
    if not rich.any():
        raise ValueError(
            f"min_genera is {min_genera}, but no site has more than {int(data.ones_per_row().max())} genera; lower it."
        )
    return Fossils(
        data=data if rich.all() else data.rows(rich),
        age=about["age_Ma"][rich],
        unit=about["MN"][rich],
        dated=about["known_age"][rich] == 1,
    )


@dataclass(frozen=True, eq=False)
class BirdSurvey:
    """Which species of birds were seen where, on up to three visits.

    Attributes
    ----------
    detections : ndarray of int8, shape (n_sites, n_visits, n_species)
        1 seen, 0 not seen, -1 where the visit wasn't made.
    counts : ndarray of int, shape (n_sites, n_visits, n_species)
        How many were counted, -1 where the visit wasn't made.
    sites : list of str
        Names of the squares.
    species : list of str
        Names of the species in English.
    latin_names : list of str
        Names of the species in Latin.
    elevation : ndarray of float, shape (n_sites,)
        Metres above the sea.
    forest : ndarray of float, shape (n_sites,)
        Cover in percent.
    """

    detections: NDArray[np.int8]
    counts: NDArray[np.int_]
    sites: list[str]
    species: list[str]
    latin_names: list[str]
    elevation: NDArray[np.float64]
    forest: NDArray[np.float64]

    @property
    def surveyed(self) -> NDArray[np.bool_]:
        """Whether each visit was made, sites x visits."""
        made: NDArray[np.bool_] = np.all(self.detections >= 0, axis=2)
        return made

    def visit(self, number: int) -> BinaryData:
        """Return what was seen on one visit.

        Parameters
        ----------
        number : int
            Which visit, 0 the first.

        Returns
        -------
        BinaryData
            Sites x species; sites that weren't surveyed are missing.

        Raises
        ------
        ValueError
            If there is no such visit.
        """
        n_visits = self.detections.shape[1]
        if not 0 <= number < n_visits:
            raise ValueError(f"visit {number} is asked for; the visits are 0 to {n_visits - 1}.")
        seen = self.detections[:, number]
        return BinaryData.of(seen == 1, row_names=self.sites, column_names=self.species).hide(seen < 0)

    def histories(self) -> Histories:
        """Return what was seen on all visits.

        Returns
        -------
        Histories
            Sites x visits x species; visits that weren't made are missing.
        """
        seen = np.where(self.detections < 0, np.nan, self.detections)
        return Histories.of(seen, row_names=self.sites, column_names=self.species)


def load_birds() -> BirdSurvey:
    """Return the Swiss breeding bird survey of 2014: 158 species on 267 squares of a kilometre, visited 2 or 3 times.

    A bird that is seen on a later visit only was overlooked before: the truth about false absences. 13 of the species
    weren't seen at all, and one square wasn't surveyed. The file mhb2014.npz is read from the folder that
    LATENTBITS_DATA names.

    Returns
    -------
    BirdSurvey
        What was seen on each visit, with what is known about the squares.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: MHB2014 of the R package AHMbook (Swiss Ornithological Institute). Licence: GPL, version 3 or later.

    Examples
    --------
    >>> from latentbits.datasets import load_birds
    >>> birds = load_birds()  # doctest: +SKIP
    >>> birds.visit(0).shape  # doctest: +SKIP
    (267, 158)
    """
    cells = ("sites", "visits", "species")
    arrays = _BIRDS.arrays(
        {
            "detections": Numbers(cells, -1, 1),
            "counts": Numbers(cells),
            "site_id": Words(("sites",)),
            "species": Words(("species",)),
            "latin": Words(("species",)),
            "elev": Numbers(("sites",)),
            "forest": Numbers(("sites",)),
        }
    )
    return BirdSurvey(
        detections=arrays["detections"].astype(np.int8),
        counts=arrays["counts"].astype(np.int_),
        sites=arrays["site_id"].tolist(),
        species=arrays["species"].tolist(),
        latin_names=arrays["latin"].tolist(),
        elevation=arrays["elev"].astype(np.float64),
        forest=arrays["forest"].astype(np.float64),
    )


@dataclass(frozen=True, eq=False)
class DNABands:
    """Which bands of DNA each isolate shows.

    Attributes
    ----------
    data : BinaryData, isolates x bands
        1 where the band is present.
    population : ndarray of str, shape (n_isolates,)
        The field that the isolate comes from.
    subpopulation : ndarray of str, shape (n_isolates,)
        The place in the field: "1", "2", ... in each.
    """

    data: BinaryData
    population: NDArray[np.str_]
    subpopulation: NDArray[np.str_]


def load_aflp() -> DNABands:
    """Return 56 AFLP bands of 187 isolates of a root rot pathogen (Aphanomyces euteiches) from two fields.

    AFLP makes fingerprints of DNA. The file aflp_aeut.csv is read from the folder that LATENTBITS_DATA names.

    Returns
    -------
    DNABands
        Isolates x bands, with the isolates' origin.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: Aeut of the R package poppr (Grünwald and Hoheisel, Phytopathology 96, 2006). Licence: GPL.

    Examples
    --------
    >>> from latentbits.datasets import load_aflp
    >>> load_aflp().data.shape  # doctest: +SKIP
    (187, 56)
    """
    about = _AFLP.columns({"pop": str, "subpop": str})
    data = read_table(_AFLP.path(), row_labels="isolate", exclude=list(about))
    return DNABands(data, population=about["pop"], subpopulation=about["subpop"])


@dataclass(frozen=True, eq=False)
class VisualFields:
    """What eyes see at 54 places of the visual field, one test per row; sorted by person, then by time.

    Attributes
    ----------
    X : ndarray of float, shape (n_tests, 54)
        Sensitivity in dB.
    feature_names : list of str
        The places, "l1" to "l54".
    blind_spot : ndarray of bool, shape (54,)
        The two places on the blind spot; `X[:, ~blind_spot]` is without them.
    glaucoma : ndarray of bool, shape (n_tests,)
        Whether the eye has glaucoma; the others are healthy.
    person : ndarray of int, shape (n_tests,)
        Who was tested, counted from 0; several rows may be of one person, so split by this.
    eye : ndarray of str, shape (n_tests,)
        "OD" right, "OS" left.
    age : ndarray of float, shape (n_tests,)
        Years.
    """

    X: NDArray[np.float64]
    feature_names: list[str]
    blind_spot: NDArray[np.bool_]
    glaucoma: NDArray[np.bool_]
    person: NDArray[np.int_]
    eye: NDArray[np.str_]
    age: NDArray[np.float64]


def load_visual_fields(*, first_only: bool = False) -> VisualFields:
    """Return 665 visual fields (24-2 perimetry) of 122 people, healthy or with glaucoma.

    The file visual_fields_24d2.csv is read from the folder that LATENTBITS_DATA names.

    Parameters
    ----------
    first_only : bool, default=False
        Keep each person's first test only.

    Returns
    -------
    VisualFields
        Tests x places, with who was tested.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: vfctrSunyiu24d2, vfpwgRetest24d2 and vfpwgSunyiu24d2 of the R package visualFields. Licence: Apache 2.0.

    Examples
    --------
    >>> from latentbits.datasets import load_visual_fields
    >>> load_visual_fields(first_only=True).X.shape  # doctest: +SKIP
    (122, 54)
    """
    words = ("source", "group", "id", "eye", "date", "time")
    table = _VISUAL_FIELDS.columns(dict.fromkeys(words, str) | dict.fromkeys(("age", *_LOCATIONS), float))
    unknown = ~np.isin(table["group"], ["healthy", "glaucoma"])
    if unknown.any():
        raise _VISUAL_FIELDS.error(f"the group {str(table['group'][unknown][0])!r} is neither healthy nor glaucoma")
    order = np.lexsort([table[name] for name in ("time", "date", "id", "source")])
    who = np.char.add(np.char.add(table["source"], " "), table["id"])[order]
    first = np.concatenate([[True], who[1:] != who[:-1]])
    person = np.cumsum(first) - 1
    kept = first if first_only else np.ones(len(first), dtype=bool)
    rows = order[kept]
    return VisualFields(
        X=np.column_stack([table[name][rows] for name in _LOCATIONS]),
        feature_names=list(_LOCATIONS),
        blind_spot=np.isin(_LOCATIONS, _BLIND_SPOT),
        glaucoma=table["group"][rows] == "glaucoma",
        person=person[kept],
        eye=table["eye"][rows],
        age=table["age"][rows],
    )
