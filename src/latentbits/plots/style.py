"""What all figures share: matplotlib settings, palette, labels, and what they read of fitted models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from io import BytesIO
from typing import Any, NamedTuple, ParamSpec

import numpy as np
from matplotlib import rc_context, rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from latentbits.palette import LIGHT, NOISE, SERIES
from latentbits.wording import place

INK = LIGHT["ink"]
QUIET = LIGHT["edge"]
BEST = LIGHT["value"]
FOUND = LIGHT["found"]
VALUES = LinearSegmentedColormap.from_list("values", [LIGHT["zero"], LIGHT["value"]])
"""From 0 to 1."""

AROUND_ZERO = LinearSegmentedColormap.from_list("around zero", [LIGHT["below"], LIGHT["paper"], LIGHT["value"]])
"""From below zero to above it."""

# The font family is left to the user's settings: names may need the glyphs of another script.
HOUSE: Any = {
    "figure.facecolor": "white",
    "figure.titlesize": 10,
    "figure.labelsize": 10,
    "axes.facecolor": "white",
    "axes.edgecolor": LIGHT["edge"],
    "axes.linewidth": 0.8,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.formatter.useoffset": False,
    "axes.unicode_minus": True,
    "text.color": INK,
    "text.parse_math": False,  # names may contain dollar signs
    "text.usetex": False,
    "xtick.color": LIGHT["edge"],
    "ytick.color": LIGHT["edge"],
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "savefig.facecolor": "auto",
}
"""The house style, a set of rcParams; applied only while a figure is made, where the user has no style of their own."""

MUST = ("axes.formatter.useoffset", "text.parse_math", "text.usetex")
"""Settings without which names or numbers would be misread, whatever the style."""


class Kind(NamedTuple):
    """How a kind of component is drawn: its words, the colour of its marks, and a darker one for its text."""

    words: str
    mark: str
    text: str


KINDS = {
    "content": Kind("", SERIES[4], ""),
    "white": Kind("white phantom", NOISE["white"], "#9a5200"),
    "black": Kind("black phantom", NOISE["black"], "#8f2c65"),
    "extinct": Kind("extinct", NOISE["extinct"], "#666666"),
}

P = ParamSpec("P")


class NotebookFigure(Figure):
    """A figure that a notebook displays, also where pyplot was never imported.

    Examples
    --------
    >>> NotebookFigure(figsize=(1, 1))._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def house_style(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorate a function that makes a figure, so that it does so in the house style.

    Examples
    --------
    >>> @house_style
    ... def blank() -> Figure:
    ...     return new_figure(2, 1)
    >>> blank().get_facecolor()
    (1.0, 1.0, 1.0, 1.0)
    """

    @wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with rc_context(_settings()):
            return draw(*args, **kwargs)

    return styled


def _settings() -> dict[Any, Any]:
    """The house style less what the user or a style sheet has set; of colours all, which go together."""
    own = {name for name in HOUSE if rcParams[name] != rcParamsDefault[name]}
    colours = {name for name in HOUSE if "color" in name}
    left = own | colours if own & colours else own
    return {name: value for name, value in HOUSE.items() if name in MUST or name not in left}


def ink() -> str:
    """Return the colour of text, and of marks that are to be as strong.

    Examples
    --------
    >>> with rc_context({"text.color": "#eeeeee"}):
    ...     ink()
    '#eeeeee'
    """
    return to_hex(rcParams["text.color"])


def paper() -> str:
    """Return the colour behind marks.

    Examples
    --------
    >>> with rc_context({"axes.facecolor": "black"}):
    ...     paper()
    '#000000'
    """
    return to_hex(rcParams["axes.facecolor"])


def text_colour(kind: str) -> str:
    """Return the colour of text about a kind of component, legible on light and on dark paper.

    Examples
    --------
    >>> text_colour("white"), text_colour("content") == ink()
    ('#9a5200', True)
    """
    is_light = max(to_rgb(paper())) > 0.5
    return (KINDS[kind].text or ink()) if is_light else KINDS[kind].mark


def new_figure(width: float, height: float) -> NotebookFigure:
    """Return an empty figure of a size in inches that arranges its panels by itself.

    Examples
    --------
    >>> new_figure(4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    return NotebookFigure(figsize=(width, height), layout="constrained")


def canvas(figure: Figure | SubFigure | None, width: float, height: float) -> Figure | SubFigure:
    """Return the figure that the caller gave, or a new one of a size in inches.

    Examples
    --------
    >>> canvas(None, 4, 3).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    return new_figure(width, height) if figure is None else figure


def panel(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes that the caller gave, or those of a new figure of a size in inches.

    Examples
    --------
    >>> panel(None, 4, 3).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    return new_figure(width, height).subplots() if ax is None else ax


def figure_of(ax: Axes) -> Figure:
    """Return the whole figure that axes belong to, also where they are in a part of it.

    Examples
    --------
    >>> figure = new_figure(4, 3)
    >>> figure_of(figure.subfigures(1, 2)[0].subplots()) is figure
    True
    """
    return ax.figure.figure


def remove_frame(ax: Axes) -> None:
    """Remove the ticks and show a thin frame on all sides, for images.

    Examples
    --------
    >>> ax = new_figure(1, 1).subplots()
    >>> remove_frame(ax)
    >>> len(ax.get_xticks())
    0
    """
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)


def shortened(name: object, width: int = 24) -> str:
    """Return a name on one line, of at most `width` characters.

    Examples
    --------
    >>> shortened("Parachleuastochoerus", 12)
    'Parachleuas…'
    >>> shortened("two\\nlines")
    'two lines'
    """
    printable = "".join(letter if letter.isprintable() else " " for letter in str(name))
    line = " ".join(printable.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def spread(n_all: int, n_wanted: int) -> np.ndarray:
    """Return up to `n_wanted` positions spread evenly over 0 .. `n_all` - 1, both ends included.

    Examples
    --------
    >>> spread(9, 3)
    array([0, 4, 8])
    >>> spread(2, 3)
    array([0, 1])
    """
    return np.linspace(0, n_all - 1, min(n_all, n_wanted)).round().astype(np.intp)


def whole_numbers() -> MaxNLocator:
    """Return a locator of round ticks for an axis that counts.

    Examples
    --------
    >>> whole_numbers().tick_values(0, 3).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return MaxNLocator(integer=True, steps=[1, 2, 5, 10])


# ---- attributes of fitted models ---------------------------------------------------------------------------------

Floats = NDArray[np.float64]


def attribute(model: Any, name: str) -> Any:
    """Return an attribute of a fitted model, or raise an error that names it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> attribute(SimpleNamespace(), "weights_")
    Traceback (most recent call last):
    AttributeError: SimpleNamespace has no weights_; give a fitted model that has it.
    """
    try:
        return getattr(model, name)
    except AttributeError:
        raise AttributeError(f"{type(model).__name__} has no {name}; give a fitted model that has it.") from None


def components_of(model: Any) -> Floats:
    """Return the components (K x D), which have to be probabilities.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> components_of(SimpleNamespace(components_=[[0, 0.5]]))
    array([[0. , 0.5]])
    """
    components = np.asarray(attribute(model, "components_"), dtype=float)
    if not np.all((components >= 0) & (components <= 1)):
        raise ValueError("components_ holds values outside 0 .. 1; only components of probabilities can be drawn.")
    return components


def kinds_of(model: Any, n_components: int) -> list[str]:
    """Return "content", "white", "black" or "extinct" for each component; all "content" for a model without phantoms.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> kinds_of(SimpleNamespace(), 2)
    ['content', 'content']
    """
    phantoms = getattr(model, "phantoms_", None)
    return ["content"] * n_components if phantoms is None else [str(kind) for kind in phantoms]


def shares_of(model: Any) -> Floats | None:
    """Return each component's share of the data, the rows' mean weight; None where weights of a row don't sum to 1.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> shares_of(SimpleNamespace(weights_=[[1, 0], [0.5, 0.5]]))
    array([0.75, 0.25])
    >>> shares_of(SimpleNamespace(weights_=[[20.0, 3.0]])) is None
    True
    """
    weights = np.asarray(getattr(model, "weights_", [[]]), dtype=float)
    if not np.allclose(weights.sum(axis=1), 1):
        return None
    return np.average(weights, axis=0, weights=getattr(model, "row_weight_", None))


def titles_of(model: Any, n_components: int, separator: str = ", ") -> list[str]:
    """Return a title for each component: its number, its share of the data, and which phantom it is.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> titles_of(SimpleNamespace(weights_=[[0.7, 0.3]], phantoms_=["content", "white"]), 2)
    ['component 1, 70 % of the data', 'component 2, 30 % of the data\\nwhite phantom']
    """
    shares = shares_of(model)
    titles = [f"component {k + 1}" for k in range(n_components)]
    if shares is not None:
        titles = [
            f"{title}{separator}{_percent(share)} of the data" for title, share in zip(titles, shares, strict=True)
        ]
    kinds = kinds_of(model, n_components)
    return [f"{title}\n{KINDS[kind].words}".rstrip() for title, kind in zip(titles, kinds, strict=True)]


def _percent(share: float) -> str:
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def names_of(model: Any, names: Sequence[object] | None, n_columns: int) -> list[str]:
    """Return the names of the columns: those given, else those of the fit, else their numbers.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> names_of(SimpleNamespace(), None, 2)
    ['column 1', 'column 2']
    """
    found = getattr(model, "feature_names_in_", None) if names is None else names
    if found is None:
        return [place("column", j) for j in range(n_columns)]
    if len(found) != n_columns:
        raise ValueError(f"names has {len(found)} entries; give one for each of {n_columns} columns.")
    return [str(name) for name in found]
