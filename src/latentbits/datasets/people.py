"""What people write and answer, whom they like, how their countries vote, and what they switch on at home."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.feature_extraction.text import CountVectorizer

from latentbits.data.binary_data import BinaryData
from latentbits.datasets.data_folder import DOWNLOAD_FAILURES, Numbers, Source, Words

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


_GROUPS = ["sci.crypt", "sci.med", "sci.space", "soc.religion.christian"]
_NEWSGROUPS = Source(
    "news20_4groups.npz",
    f"the posts of {', '.join(_GROUPS)} in 20 Newsgroups by date as the arrays X (posts x words, 0-1), y (group), "
    "words, group_names, split (train or test) and doc_id",
)
_CHAT = Source(
    "irc_speakers.csv.gz", "the IRC disentanglement corpus (one row per message, in order; columns day and speaker)"
)


@dataclass(frozen=True, eq=False)
class Newsgroups:
    """Which words each post contains, a post a row.

    Attributes
    ----------
    data : BinaryData, posts x words
        1 where the word occurs; with the names of posts ("sci.med/57110") and words.
    target : ndarray of int, shape (n_posts,)
        The group of each post, as a position in `group_names`.
    group_names : list of str
        The names of the groups.
    train : ndarray of bool, shape (n_posts,)
        Whether the post is in the training part of the by-date split.
    """

    data: BinaryData
    target: NDArray[np.int_]
    group_names: list[str]
    train: NDArray[np.bool_]


def load_newsgroups(*, per_group: int | None = None, n_words: int | None = None) -> Newsgroups:
    """Return 3965 Usenet posts of sci.crypt, sci.med, sci.space and soc.religion.christian, with 1000 words.

    The file news20_4groups.npz is read from the folder that LATENTBITS_DATA names; without it, scikit-learn downloads
    20 Newsgroups once and keeps it. The 1000 words are then made anew (words of three letters or more, without English
    stop words and mail headers, those in most posts) and may differ from the file's.

    Parameters
    ----------
    per_group : int, optional
        Keep the first so many posts of each group; all if not given.
    n_words : int, optional
        Keep the so many words that occur in most of the kept posts, in alphabetical order; all 1000 if not given.

    Returns
    -------
    Newsgroups
        Posts x words, with the groups.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder and can't be downloaded.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: 20 Newsgroups (Ken Lang), sorted by date. Licence: none stated.

    Examples
    --------
    >>> from latentbits.datasets import load_newsgroups
    >>> posts = load_newsgroups(per_group=100, n_words=100)  # doctest: +SKIP
    >>> posts.data.shape  # doctest: +SKIP
    (400, 100)
    """
    everything = _download_newsgroups() if _NEWSGROUPS.find() is None else _read_newsgroups()
    cells, target = everything.data.dense(), everything.target
    rows = np.arange(len(target))
    if per_group is not None:
        fewest = int(np.bincount(target, minlength=len(everything.group_names)).min())
        _check_count("per_group", per_group, fewest)
        rows = np.sort(np.concatenate([rows[target == group][:per_group] for group in np.unique(target)]))
    words = np.arange(cells.shape[1])
    if n_words is not None:
        _check_count("n_words", n_words, len(words))
        words = np.sort(np.argsort(-cells[rows].sum(axis=0, dtype=int), kind="stable")[:n_words])
    posts, vocabulary = everything.data.row_names or [], everything.data.column_names or []
    data = BinaryData.of(
        np.ascontiguousarray(cells[np.ix_(rows, words)]),
        row_names=[posts[i] for i in rows],
        column_names=[vocabulary[j] for j in words],
    )
    return Newsgroups(data, target[rows], everything.group_names, everything.train[rows])


def _check_count(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise ValueError(f"{name} is {value}; take 1 to {most}.")


def _read_newsgroups() -> Newsgroups:
    arrays = _NEWSGROUPS.arrays(
        {
            "X": Numbers(("posts", "words"), 0, 1),
            "y": Numbers(("posts",), 0, len(_GROUPS) - 1),
            "words": Words(("words",)),
            "group_names": Words(("groups",)),
            "split": Words(("posts",)),
            "doc_id": Numbers(("posts",)),
        }
    )
    names, target = arrays["group_names"].tolist(), arrays["y"].astype(np.int_)
    if len(names) != len(_GROUPS):
        raise _NEWSGROUPS.error(f"there are {len(names)} group_names, not {len(_GROUPS)}")
    posts = [f"{names[group]}/{number}" for group, number in zip(target, arrays["doc_id"], strict=True)]
    data = BinaryData.of(arrays["X"].astype(np.int8), row_names=posts, column_names=arrays["words"].tolist())
    return Newsgroups(data, target, names, arrays["split"] == "train")


def _download_newsgroups() -> Newsgroups:
    """The posts of scikit-learn's fetcher in the file's order: by group, training posts first, then by number."""
    posts: list[tuple[int, bool, int, str]] = []
    try:
        for part in ("train", "test"):
            found = sklearn_datasets.fetch_20newsgroups(
                subset=part, categories=_GROUPS, remove=("headers",), shuffle=False
            )
            for text, group, file in zip(found.data, found.target, found.filenames, strict=True):
                name = found.target_names[group]
                posts.append((_GROUPS.index(name), part == "test", int(PurePath(str(file)).name), text))
        posts.sort(key=lambda post: post[:3])
        counter = CountVectorizer(binary=True, stop_words="english", token_pattern=r"\b[a-z]{3,}\b", max_features=1000)
        X = counter.fit_transform([text for *_, text in posts]).toarray().astype(np.int8)
    except DOWNLOAD_FAILURES as error:
        raise _NEWSGROUPS.missing(download=error) from error
    data = BinaryData.of(
        X,
        row_names=[f"{_GROUPS[group]}/{number}" for group, _, number, _ in posts],
        column_names=counter.get_feature_names_out().tolist(),
    )
    target = np.array([group for group, *_ in posts])
    return Newsgroups(data, target, list(_GROUPS), ~np.array([is_test for _, is_test, *_ in posts]))


@dataclass(frozen=True, eq=False)
class Chat:
    """Who spoke, message by message.

    Attributes
    ----------
    speaker : ndarray of str, shape (n_messages,)
        A pseudonym, such as "u0042".
    day : ndarray of datetime64[D], shape (n_messages,)
        When; the days don't follow each other, so a sequence ends with its day.
    """

    speaker: NDArray[np.str_]
    day: NDArray[np.datetime64]


def load_chat() -> Chat:
    """Return the speakers of 196,146 messages in the Ubuntu help channel, on 153 days.

    `latentbits.sequences.first_order_graph(chat.speaker, groups=chat.day)` makes a table of who follows whom. The file
    irc_speakers.csv.gz is read from the folder that LATENTBITS_DATA names.

    Returns
    -------
    Chat
        Speaker and day of each message.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: the IRC disentanglement corpus (Kummerfeld and others), with pseudonyms for names. Licence: CC BY 4.0.

    Examples
    --------
    >>> from latentbits.datasets import load_chat
    >>> chat = load_chat()  # doctest: +SKIP
    >>> len(chat.speaker), len(set(chat.speaker))  # doctest: +SKIP
    (196146, 15734)
    """
    table = _CHAT.columns({"speaker": str, "day": str})
    try:
        day = table["day"].astype("datetime64[D]")
    except ValueError:
        raise _CHAT.error("the column 'day' holds something that is no date such as 2004-12-25") from None
    return Chat(table["speaker"], day)
