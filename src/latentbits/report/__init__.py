"""The report: one HTML file, which an analyst can open anywhere, explore, act in and send on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentbits.findings.account import Findings

__all__ = ["Report", "render_report", "report_on", "write_report"]

HEIGHT = 720
"""Pixels of a page inside a notebook."""


class Report:
    """A page of what a model says about rows: shown in a notebook, saved, or opened in a browser.

    Parameters
    ----------
    html : str
        The page, which needs nothing else.
    title : str
        What it is about.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, simulate
    >>> X = simulate.aspect_bernoulli(40, 12, 2, random_state=0).X
    >>> page = AspectBernoulli(2, n_init=1, random_state=0).fit(X).report(X)
    >>> page.html.startswith("<!doctype html>")
    True
    """

    def __init__(self, html: str, title: str) -> None:
        self.html = html
        self.title = title

    def __repr__(self) -> str:
        return f"Report({self.title}, {len(self.html) // 1000:,} kB; .open() it in a browser, or .save(path))"

    def _repr_html_(self) -> str:
        from latentbits.views import frame

        return frame(self.html, height=HEIGHT)

    def save(self, path: str | Path) -> None:
        """Write the page as one file.

        Parameters
        ----------
        path : str or Path
            Where to; an existing file is replaced, at once or not at all.
        """
        from latentbits.storage.files import atomic_file

        with atomic_file(Path(path)) as draft:
            draft.write_text(self.html, encoding="utf-8")

    def open(self) -> Path:
        """Show the page in a browser.

        Returns
        -------
        Path
            The file that the browser reads, in the folder for temporary files.
        """
        import tempfile
        import webbrowser

        with tempfile.NamedTemporaryFile(prefix="latentbits-", suffix=".html", delete=False) as file:
            path = Path(file.name)
        self.save(path)
        webbrowser.open(path.as_uri())
        return path


def render_report(findings: Findings, *, ratings: dict[str, Any] | None = None) -> Report:
    """What was found as a page; parameters as of `write_report`."""
    from latentbits.report.frame import render
    from latentbits.report.page import page_content

    page = render(page_content(findings, ratings=ratings))
    about = findings.data
    return Report(page, f"{findings.model.class_name}, {about.rows:,} x {about.columns:,} cells")


def write_report(findings: Findings, path: str | Path, *, ratings: dict[str, Any] | None = None) -> None:
    """Write what was found as one HTML file that needs nothing else.

    Parameters
    ----------
    findings : Findings
        What `latentbits.analyse` returns.
    path : str or Path
        Where to write; an existing file is replaced, at once or not at all.
    ratings : dict, optional
        What a page has saved as ratings.json: where the sliders begin, and which cells are marked.
    """
    render_report(findings, ratings=ratings).save(path)


def report_on(model: Any, X: Any, *, shape: tuple[int, int] | None = None, **more: Any) -> Report:
    """What a fitted model says about X, without a verdict, as a page; `more` went into the fit, or asks an ensemble."""
    from latentbits.findings.analyse import analyse
    from latentbits.models.abilities import Ability, abilities_of

    asked = {"question": more} if Ability.MEMBERS in abilities_of(model) else more
    return render_report(analyse(model, X, verdict=False, shape=shape, **asked))
