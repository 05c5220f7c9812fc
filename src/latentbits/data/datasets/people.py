"""Whom people like, how their countries vote, and what they switch on at home."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latentbits.data.binary_data import BinaryData
from latentbits.data.datasets.folder import Numbers, Source, Words

__all__ = [
    "HouseholdSensors",
    "Monks",
    "RollCalls",
    "load_monks",
    "load_sensors",
    "load_votes",
]

_SURVEYS = (1, 2, 3)
_MONKS = Source(
    "sampson_monks.npz",
    "sampson of the R package ergm as the arrays names, group4, group3, samplk1 to samplk3 and sampdlk1 to sampdlk3",
)
_VOTES = Source(
    "un_votes.npz",
    "the R package unvotes as the arrays votes (roll calls x countries: 1 yes, 0 no, 2 abstain, -1 absent), rcid, "
    "country, session, year and issues",
)
_SENSORS = Source(
    "ordonezA_1min.npz",
    "house A of UCI's ADL Recognition Using Binary Sensors as the arrays X (minutes x sensors, 0-1), sensors, activity "
    "(-1 for none), activities and t0",
)


@dataclass(frozen=True, eq=False)
class Monks:
    """Who likes whom in a monastery, a monk a row and a column.

    Attributes
    ----------
    data : BinaryData, monks x monks
        1 where the monk of the row named that of the column among those he liked, in any of three surveys. Nobody names
        himself; `data.hide(np.eye(18, dtype=bool))` makes those zeros missing.
    group : ndarray of str, shape (18,)
        "Loyal", "Turks", "Outcasts" or "Waverers".
    group_of_three : ndarray of str, shape (18,)
        The same with the waverers among the others.
    liking : ndarray of int, shape (3, 18, 18)
        The same at each survey, 3 for the most liked of those named, 1 for the least, 0 for the others.
    disliking : ndarray of int, shape (3, 18, 18)
        The same for the most disliked.
    """

    data: BinaryData
    group: NDArray[np.str_]
    group_of_three: NDArray[np.str_]
    liking: NDArray[np.int_]
    disliking: NDArray[np.int_]


def load_monks() -> Monks:
    """Return Sampson's survey of 18 novices in a monastery, who named those they liked and disliked at three times.

    The file sampson_monks.npz is read from the folder that LATENTBITS_DATA names.

    Returns
    -------
    Monks
        Who likes whom, with the groups.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: sampson of the R package ergm, names as corrected there (S. F. Sampson, 1968). Licence: GPL 3, with
    attribution.

    Examples
    --------
    >>> from latentbits.datasets import load_monks
    >>> load_monks().data.row_names[:2]  # doctest: +SKIP
    ['John Bosco', 'Gregory']
    """
    square = ("monks", "monks")
    arrays = _MONKS.arrays(
        {name: Words(("monks",)) for name in ("names", "group4", "group3")}
        | {f"samplk{i}": Numbers(square, 0, 3) for i in _SURVEYS}
        | {f"sampdlk{i}": Numbers(square, -3, 0) for i in _SURVEYS}
    )
    liking = np.stack([arrays[f"samplk{i}"] for i in _SURVEYS]).astype(np.int_)
    disliking = -np.stack([arrays[f"sampdlk{i}"] for i in _SURVEYS]).astype(np.int_)
    names = arrays["names"].tolist()
    data = BinaryData.of((liking > 0).any(axis=0), row_names=names, column_names=names)
    return Monks(data, arrays["group4"], arrays["group3"], liking, disliking)


@dataclass(frozen=True, eq=False)
class RollCalls:
    """How countries voted, a roll call a row.

    Attributes
    ----------
    data : BinaryData, roll calls x countries
        1 yes, 0 no or abstained, missing where the country was absent or no member.
    votes : ndarray of int8, shape (n_roll_calls, n_countries)
        1 yes, 0 no, 2 abstained, -1 absent.
    session : ndarray of int, shape (n_roll_calls,)
        Session of the assembly, one a year.
    year : ndarray of int, shape (n_roll_calls,)
        When the vote was taken.
    issues : ndarray of str, shape (n_roll_calls,)
        What it was about: "me" Palestine, "nu" nuclear weapons, "di" disarmament, "hr" human rights, "co" colonialism,
        "ec" economy; several are joined by a vertical bar, and many have none.
    """

    data: BinaryData
    votes: NDArray[np.int8]
    session: NDArray[np.int_]
    year: NDArray[np.int_]
    issues: NDArray[np.str_]


def load_votes(*, min_present: float = 0.0) -> RollCalls:
    """Return 6202 roll calls of 200 countries in 74 sessions of the UN General Assembly.

    The file un_votes.npz is read from the folder that LATENTBITS_DATA names.

    Parameters
    ----------
    min_present : float, default=0.0
        Keep the countries that voted, be it an abstention, in more than this share of the roll calls: 63 for 0.9.

    Returns
    -------
    RollCalls
        Roll calls x countries, with session, year and issues.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: the R package unvotes, after Erik Voeten's data. Licence: MIT.

    Examples
    --------
    >>> from latentbits.datasets import load_votes
    >>> load_votes(min_present=0.9).data.shape  # doctest: +SKIP
    (6202, 63)
    """
    calls = ("roll calls",)
    arrays = _VOTES.arrays(
        {
            "votes": Numbers(("roll calls", "countries"), -1, 2),
            "rcid": Numbers(calls),
            "country": Words(("countries",)),
            "session": Numbers(calls),
            "year": Numbers(calls),
            "issues": Words(calls),
        }
    )
    share = (arrays["votes"] >= 0).mean(axis=0)
    present = share > min_present
    if not present.any():
        raise ValueError(f"min_present is {min_present}, but the highest share is {share.max():.3f}; take a lower one.")
    votes = np.ascontiguousarray(arrays["votes"][:, present].astype(np.int8))
    names = {"row_names": arrays["rcid"].tolist(), "column_names": arrays["country"][present].tolist()}
    return RollCalls(
        data=BinaryData.of(votes == 1, **names).hide(votes < 0),
        votes=votes,
        session=arrays["session"].astype(np.int_),
        year=arrays["year"].astype(np.int_),
        issues=arrays["issues"],
    )


@dataclass(frozen=True, eq=False)
class HouseholdSensors:
    """Which sensors of a home were on, a minute a row.

    Attributes
    ----------
    data : BinaryData, minutes x sensors
        1 where the sensor was on during the minute.
    activity : ndarray of str, shape (n_minutes,)
        What the inhabitant said to be doing, such as "Sleeping"; "" where nothing was said.
    time : ndarray of datetime64[m], shape (n_minutes,)
        Every minute from the first to the last.
    """

    data: BinaryData
    activity: NDArray[np.str_]
    time: NDArray[np.datetime64]


def load_sensors() -> HouseholdSensors:
    """Return 12 on-off sensors in the home of one person, minute by minute over two weeks.

    The file ordonezA_1min.npz is read from the folder that LATENTBITS_DATA names.

    Returns
    -------
    HouseholdSensors
        Minutes x sensors, with the activities.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: Activities of Daily Living Recognition Using Binary Sensors (F. J. Ordóñez), UCI Machine Learning
    Repository, house A. Licence: CC BY 4.0.

    Examples
    --------
    >>> from latentbits.datasets import load_sensors
    >>> load_sensors().data.shape  # doctest: +SKIP
    (20456, 12)
    """
    arrays = _SENSORS.arrays(
        {
            "X": Numbers(("minutes", "sensors"), 0, 1),
            "sensors": Words(("sensors",)),
            "activities": Words(("activities",)),
            "activity": Numbers(("minutes",), -1, np.inf),
            "t0": Words(()),
        }
    )
    names = np.append(arrays["activities"], "")  # so that -1, no activity, is the empty name
    if arrays["activity"].max() >= len(arrays["activities"]):
        raise _SENSORS.error(f"the array 'activity' goes beyond the {len(arrays['activities'])} activities")
    try:
        start = np.datetime64(str(arrays["t0"]), "m")
    except ValueError:
        raise _SENSORS.error("the array 't0' is no time such as 2011-11-28 02:27:00") from None
    return HouseholdSensors(
        data=BinaryData.of(arrays["X"].astype(np.int8), column_names=arrays["sensors"].tolist()),
        activity=names[arrays["activity"].astype(int)],
        time=start + np.arange(len(arrays["X"])),
    )
