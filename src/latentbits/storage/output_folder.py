"""A folder of output: written as a whole, and replaced only where nothing but an earlier output would be lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbits.storage.files import MODEL_FILE, atomic_file, atomic_folder, parse_json, write_csv, write_json
from latentbits.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DATA_FILE, REPORT_FILE, SUMMARY_FILE, PLOTS_FOLDER = "data.npz", "report.html", "summary.json", "plots"

# fmt: off
# Anybody may have written a summary, so that a file is deleted only if its name is one of these as well.
TABLES = frozenset({
    "associations", "causes", "check", "choices", "clean", "clusters", "codes", "comparison", "components",
    "components_interval", "correlations", "couplings", "curve", "curves", "denoised", "discards",
    "factor_correlations", "folds", "history", "intervals", "left_out_visits", "loadings", "members", "mixing",
    "noisy", "overlaps", "pairs", "present", "probabilities", "reconstruction", "reliability", "responses",
    "restarts", "rows", "scores", "seen_next", "segments", "selection", "separation", "sites", "sizes",
    "sources", "species", "stability", "suspects", "variation", "weights",
})
"""The tables that outputs have, each as NAME.csv."""

FIGURES = frozenset({
    "bound", "calibration", "causes", "check", "cluster_means", "clusters", "comparison", "components", "couplings",
    "denoising", "detection", "further_visits", "loadings", "map", "member_weights", "mixing", "objective", "pair_fit",
    "projections", "reliability", "responses", "richness", "scree", "selection", "sizes", "source_densities",
    "source_effects", "source_scales", "strengths", "variation", "weights",
})
"""The figures that they have, each as NAME.png (.svg, .pdf) among the plots; of several the others NAME_1.png."""
# fmt: on

FORMATS, DOTS_PER_INCH = ("png", "svg", "pdf"), 300
"""What figures can be written as, the first one unless somebody asks; and how fine those of points are."""

_OURS = {MODEL_FILE, DATA_FILE, REPORT_FILE, SUMMARY_FILE, *(f"{name}.csv" for name in TABLES)}
_OF_SYSTEMS = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What file managers leave in any folder: it is taken over into the folder that replaces another."""

NAMED = 3
"""How many of the files that are in the way a refusal names."""


class OutputFolder:
    """A folder whose summary.json lists its files, by which it is known as an earlier output.

    Parameters
    ----------
    path : str or Path
        It needn't exist yet.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def summary(self) -> dict[str, Any]:
        """What summary.json says; empty if there is none that can be read. Anybody may have written it."""
        with contextlib.suppress(OSError, ValueError):
            content = parse_json((self.path / SUMMARY_FILE).read_text(encoding="utf-8"))
            # Once more, because \ud800 is good JSON, but no text that can be written.
            content = json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))
            return content if isinstance(content, dict) else {}
        return {}

    @property
    def files(self) -> list[str]:
        """The files and folders that the summary lists; none if this isn't an output."""
        files = self.summary.get("files")
        return [str(name) for name in files] if isinstance(files, list) else []

    def add_file(self, name: str) -> None:
        """List one more file in the summary, so that it is known as part of the output."""
        files = self.files
        if files and name not in files:
            with atomic_file(self.path / SUMMARY_FILE) as draft:
                write_json({**self.summary, "files": [*files, name]}, draft)

    def check(self, *, force: bool) -> None:
        """Refuse a folder that exists, unless `force` and it is empty or holds an earlier output only.

        One that could not be made is refused as well: that should not be found out after a long fit.
        """
        if not self.path.exists():
            _check_parent(self.path.absolute())
            return
        if not force:
            raise FileExistsError(f"{self.path} exists already; choose another --out, or use --force to replace it")
        if not self.path.is_dir():
            raise FileExistsError(f"{self.path} is a file, not a folder; choose another --out")
        if in_the_way := self._not_ours():
            more = f" and {counted(len(in_the_way) - NAMED, 'other')}" if len(in_the_way) > NAMED else ""
            raise FileExistsError(
                f"{self.path} {'' if self.files else 'is not an earlier output: it '}holds "
                f"{', '.join(map(repr, in_the_way[:NAMED]))}{more}, which --force would delete; "
                f"move {'it' if len(in_the_way) == 1 else 'them'} away, or choose another --out"
            )

    def _not_ours(self) -> list[str]:
        """What is in the folder beside files that its own record lists and that have names of ours."""
        listed, found = set(self.files), []
        for entry in sorted(self.path.iterdir()):
            if entry.name == PLOTS_FOLDER and PLOTS_FOLDER in listed and entry.is_dir() and not entry.is_symlink():
                plots = sorted(entry.iterdir())
                ours = {plot.name for plot in plots if plot.suffix[1:] in FORMATS and _kind(plot.stem) in FIGURES}
                found += [f"{PLOTS_FOLDER}/{plot.name}" for plot in plots if not _is_one_of(plot, ours)]
            elif not _is_one_of(entry, listed & _OURS):
                found.append(entry.name)
        return found

    @contextlib.contextmanager
    def replaced(self, *, force: bool) -> Iterator[Path]:
        """A new folder to write into, which becomes this one at the end (see `check` for what is refused)."""
        self.check(force=force)
        with atomic_folder(self.path, replace=force) as draft:
            yield draft
            self.check(force=force)  # a long fit lies between, in which files may have come
            for folder in (self.path, self.path / PLOTS_FOLDER):
                self._take_over(folder, draft / folder.relative_to(self.path))

    def _take_over(self, folder: Path, new: Path) -> None:
        """Copy what file managers have left, unless the folder is no more."""
        for name in _OF_SYSTEMS:
            if (folder / name).is_file() and new.is_dir():
                shutil.copy2(folder / name, new / name)

    def save_tables(
        self,
        tables: Mapping[str, pd.DataFrame],
        summary: Mapping[str, Any],
        *,
        figures: Mapping[str, Callable[[], Figure]] | None = None,
        force: bool,
    ) -> None:
        """Write the folder: tables as CSV, figures (if any) as PNG, and the summary, which lists all of them."""
        plots = [PLOTS_FOLDER] if figures else []
        with self.replaced(force=force) as draft:
            write_tables(tables, draft)
            if figures:
                write_plots(figures, draft / PLOTS_FOLDER)
            files = [SUMMARY_FILE, *plots, *(f"{name}.csv" for name in tables)]
            write_json({**summary, "files": files}, draft / SUMMARY_FILE)


def write_tables(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write tables into a folder as CSV files of their names."""
    _check_names(tables, TABLES)
    for name, table in tables.items():
        write_csv(table, folder / f"{name}.csv")


def write_plots(
    figures: Mapping[str, Callable[[], Figure]], folder: Path, formats: Sequence[str] = FORMATS[:1]
) -> None:
    """Make the folder, draw the figures and write them there in these formats."""
    _check_names(figures, FIGURES)
    folder.mkdir()
    for name, draw in figures.items():
        figure = draw()
        for form in formats:
            figure.savefig(folder / f"{name}.{form}", dpi=DOTS_PER_INCH)


def _check_names(given: Mapping[str, Any], known: frozenset[str]) -> None:
    """Warn of a name that isn't listed above: the output is good, but could not be replaced later."""
    for name in sorted(name for name in given if _kind(name) not in known):
        warnings.warn(f"{name!r} is not in the lists of {__name__}, so --force will not replace it", stacklevel=3)


def _kind(name: str) -> str:
    """Of the figures responses, responses_1, responses_2 the first."""
    return re.sub(r"_[1-9][0-9]*$", "", name)


def _is_one_of(entry: Path, names: Set[str]) -> bool:
    """Whether it is a file (or a link, of which only the link is deleted) with one of these names, or a system's."""
    if entry.name in _OF_SYSTEMS:
        return entry.is_file() and not entry.is_symlink()
    return entry.name in names and (entry.is_file() or entry.is_symlink())


def _check_parent(folder: Path) -> None:
    """Refuse a folder whose nearest existing parent is a file, or may not be written to."""
    parent = next(parent for parent in folder.parents if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise NotADirectoryError(f"{parent} is not a folder to write into; choose another --out")
