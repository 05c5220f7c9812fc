"""What a notebook shows of a result: a small block of HTML that needs nothing from outside.

Imports nothing but the standard library. Everything that comes from data is escaped; a style sheet of a few lines is
scoped to the block, and its colours are the notebook's own, light or dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """<style>
.latentbits-view { font: 13px/1.5 system-ui, sans-serif; max-width: 60em; padding: .6em .9em; border: 1px solid #8884;
  border-radius: 6px }
.latentbits-view p { margin: .15em 0 }
.latentbits-view table { border-collapse: collapse; margin: .4em 0; display: block; overflow-x: auto }
.latentbits-view th, .latentbits-view td { text-align: left; padding: .15em .9em .15em 0; border: 0; background: none }
.latentbits-view .bar { display: inline-block; height: .7em; background: #0072b2; border-radius: 2px;
  margin-right: .5em }
.latentbits-view details { margin-top: .4em }
</style>"""
_BAR_EM = 8


class Bar(float):
    """A share from 0 to 1, drawn as a bar with its percentage."""


def block(title: str, lines: Sequence[str] = (), *parts: str) -> str:
    """A view: a title, sentences under it, and parts that are HTML already.

    Parameters
    ----------
    title : str
        Shown first and bold.
    lines : sequence of str, optional
        A paragraph each.
    *parts : str
        HTML, such as of `table`.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> "<b>a &lt; b</b>" in block("a < b")
    True
    """
    words = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f'{_STYLE}<div class="latentbits-view"><p><b>{escape(title)}</b></p>{words}{"".join(parts)}</div>'


def table(header: Sequence[str], rows: Sequence[Sequence[object]], *, more: int = 0) -> str:
    """A table of short entries.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Entries: texts, numbers (rounded), or `Bar`.
    more : int, default=0
        How many rows were left out, which is said below.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> "<td>0.3333</td>" in table(["share"], [[1 / 3]])
    True
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{_entry(entry)}</td>' for entry in row)}</tr>" for row in rows)
    end = f"<p>… and {more:,} more</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{end}"


def _entry(entry: object) -> str:
    if isinstance(entry, Bar):
        width = _BAR_EM * min(max(float(entry), 0.0), 1.0)
        return f'<span class="bar" style="width:{width:.2f}em"></span>{100 * float(entry):.0f} %'
    return escape(f"{entry:.4g}" if isinstance(entry, float) else str(entry))


def frame(page: str, *, height: int) -> str:
    """A whole page inside the notebook, apart from everything else in it.

    Parameters
    ----------
    page : str
        HTML of the page.
    height : int
        Pixels.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> 'srcdoc="&lt;p&gt;"' in frame("<p>", height=10)
    True
    """
    style = f"width:100%;height:{height}px;border:1px solid #8884;border-radius:6px"
    return f'<iframe title="latentbits report" style="{style}" srcdoc="{escape(page)}"></iframe>'
