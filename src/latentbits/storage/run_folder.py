"""The folder that a fit leaves behind: model, data, tables, plots, summary and report; written, opened, added to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbits.errors import DataError
from latentbits.storage.files import MODEL_FILE, write_json
from latentbits.storage.output_folder import (
    DATA_FILE,
    FORMATS,
    PLOTS_FOLDER,
    REPORT_FILE,
    SUMMARY_FILE,
    OutputFolder,
    write_plots,
    write_tables,
)

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.findings.account import Data, Findings
    from latentbits.tasks.choose import ModelChoice

_SELECTION = "selection"
_ASKED: dict[str, Any] = {
    "per_row": int,
    "rate": float,
    "revisits": str,
    "later_visits": (int, str),
    "n_visits": (int, str),
}
"""Options of what is asked of an ensemble, and what they may be."""


class RunFolder(OutputFolder):
    """The folder of a fit: save a new one, or `open` an earlier one.

    A model file alone can be opened as well; of such a one nothing but the model is known.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from latentbits import AspectBernoulli, analyse
    >>> from latentbits.data import BinaryData
    >>> data = BinaryData.of([[0, 1], [1, 1], [0, 1]], column_names=["Sus", "Bos"])
    >>> model = AspectBernoulli(1, n_init=1).fit(data)
    >>> with TemporaryDirectory() as folder:
    ...     _ = RunFolder(Path(folder) / "run").save(analyse(model, data, verdict=False), force=False, report=False)
    ...     run = RunFolder.open(Path(folder) / "run")
    ...     run.load_data()[0].shape, type(run.load_model()).__name__, run.files[:3]
    ((3, 2), 'AspectBernoulli', ['model.npz', 'data.npz', 'summary.json'])
    """

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """The folder of an earlier fit, or a model file; anything else is refused."""
        run = cls(path)
        if not run.path.exists():
            raise FileNotFoundError(f'{run.path}: no such folder; give one made by "latentbits fit", or a model file')
        if not run.model_file.is_file():
            if run.files:  # such as that of `latentbits factors`
                page = f" and {REPORT_FILE}" if REPORT_FILE in run.files else ""
                raise FileNotFoundError(
                    f"{run.path} holds tables{page} but no {MODEL_FILE}, so nothing more can be asked of it; give a "
                    'folder made by "latentbits fit"'
                )
            raise FileNotFoundError(f'{run.path} holds no {MODEL_FILE}; give a folder made by "latentbits fit"')
        return run

    # ---- writing -----------------------------------------------------------------------------------------------

    def save(
        self, findings: Findings, *, force: bool, report: bool, formats: Sequence[str] = FORMATS[:1]
    ) -> dict[str, Any]:
        """Write everything, and return the summary, which lists the files.

        Parameters
        ----------
        findings : Findings
            What `latentbits.analyse` returns.
        force : bool
            Whether an earlier output is replaced; a folder with anything else in it is refused all the same.
        report : bool
            Whether the folder gets a report.html.
        formats : sequence of str
            What figures are written as: "png", "svg", "pdf".
        """
        files = [MODEL_FILE, DATA_FILE, SUMMARY_FILE, PLOTS_FOLDER, *(f"{name}.csv" for name in findings.tables)]
        summary = {**findings.to_dict(), "files": [*files, REPORT_FILE] if report else files}
        with self.replaced(force=force) as draft:
            RunFolder(draft)._fill(findings, summary, report=report, formats=formats)
        return summary

    def _fill(self, findings: Findings, summary: dict[str, Any], *, report: bool, formats: Sequence[str]) -> None:
        from latentbits.storage.persistence import save_model
        from latentbits.storage.stored_data import save_data

        subject = findings.subject
        save_model(subject.model, self.path / MODEL_FILE)
        save_data(subject.data, self.path / DATA_FILE, **subject.fit_params)
        write_tables(findings.tables, self.path)
        write_plots({figure.key: figure.draw for figure in findings.figures}, self.path / PLOTS_FOLDER, formats)
        if report:
            self.write_report(findings, self.report_file)
        write_json(summary, self.path / SUMMARY_FILE)

    def write_report(self, findings: Findings, target: Path, *, ratings: dict[str, Any] | None = None) -> None:
        """Write a report to `target`; one that belongs to the folder is listed among its files."""
        from latentbits.report import write_report

        write_report(findings, target, ratings=ratings)
        if self.is_own_report(target):
            self.add_file(REPORT_FILE)

    @property
    def report_file(self) -> Path:
        """Where the folder's own report is, or would be."""
        return self.path / REPORT_FILE

    def is_own_report(self, target: Path) -> bool:
        """Whether a path is that of the folder's own report."""
        return self.is_folder and target.resolve() == self.report_file.resolve()

    # ---- reading -----------------------------------------------------------------------------------------------

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder, not a model file alone."""
        return self.path.is_dir()

    @property
    def model_file(self) -> Path:
        """The file of the model."""
        return self.path / MODEL_FILE if self.is_folder else self.path

    def load_model(self) -> Any:
        """The fitted model."""
        from latentbits.storage.persistence import load_model

        return load_model(self.model_file)

    def check_data(self) -> None:
        """Refuse a folder without the data of the fit."""
        if not (self.path / DATA_FILE).is_file():
            raise DataError(
                f"{self.path} holds no {DATA_FILE} (an earlier version made it); give FILE, the rows to report on"
            )

    def load_data(self) -> tuple[Data, dict[str, Any]]:
        """The data of the fit, and the further arguments of the model's `fit`, such as segments."""
        from latentbits.storage.stored_data import load_data

        self.check_data()
        return load_data(self.path / DATA_FILE)

    # A summary may be damaged or crafted; parts of it that make no sense are as good as absent.

    @property
    def fit_record(self) -> dict[str, Any]:
        """What the summary says of the fit that the model doesn't know: verdict, notes, suspects, seconds, search."""
        record: dict[str, Any] = {}
        summary = self.summary
        match summary:
            case {"verdict": {"predicts": bool() | None, "sentences": [*sentences]} as verdict}:
                if all(isinstance(sentence, str) for sentence in sentences):
                    record["verdict"] = verdict
        match summary:
            case {"notes": list(notes)} if all(isinstance(note, str) for note in notes):
                record["notes"] = notes
        match summary:
            case {"suspected": dict(suspected)} if all(isinstance(value, int) for value in suspected.values()):
                record["suspected"] = suspected
        match summary:
            case {"seconds": dict(seconds)} if all(isinstance(value, int | float) for value in seconds.values()):
                record["seconds"] = seconds
        match summary:
            case {"selection": {"seed": int() | None, "tried": list(), "choices": [*choices]} as selection} if choices:
                if all(isinstance(choice, dict) and {"criterion", "best"} <= choice.keys() for choice in choices):
                    record["selection"] = selection
        return record

    def load_choice(self, model: Any) -> ModelChoice | None:
        """How the model of this folder was chosen among others; None if it was named."""
        from latentbits.notes import Code, Note, Role
        from latentbits.tasks.choose import ModelChoice
        from latentbits.tasks.compare import Comparison

        match self.summary:
            case {
                "data": {"rows": int(n_rows)},
                "choice": {
                    "model": str(name),
                    "components": int() | None as components,
                    "tried": int(),
                    "some_rows": int() | None as some_rows,
                    "score": float(),
                    "simplest": str(),
                    "simplest_score": float(),
                    "is_best": bool(),
                    "at_the_end": bool(),
                    **others,
                } as said,
            } if not others:
                compared = Comparison(
                    self._table("comparison.csv", "cells", "model"),
                    self._table("folds.csv", "score", "criterion", "model"),
                )
                called = name if components is None else f"{name}({components})"
                note = Note(Code.MODEL_CHOSEN, said, Role.LEAD)
                return ModelChoice(model, called, compared, n_rows if some_rows is None else some_rows, note)
        return None

    @property
    def file_name(self) -> str | None:
        """The name of the file that the model was fitted to."""
        match self.summary:
            case {"data": {"file": str(name)}}:
                return name
        return None

    @property
    def reading(self) -> dict[str, Any] | None:
        """How that file was read: the options of `read_table` (or `read_numbers`) that read another in the same way.

        None if it isn't known, as in folders of earlier versions.
        """
        return self.reading_of(self.load_model())

    def reading_of(self, model: Any) -> dict[str, Any] | None:
        """The same, the model being opened already: what it says, or else the summary."""
        from latentbits.data.read_options import checked_reading

        own = checked_reading(getattr(model, "reading_", None))
        if own is not None:
            return own
        match self.summary:
            case {"data": {"reading": reading}}:
                return checked_reading(reading)
        return None

    @property
    def marks_file(self) -> str | None:
        """The name of the file whose marks of cells were used in the fit, if there was one."""
        match self.summary:
            case {"data": {"marks": {"file": str(name)}}}:
                return name
        return None

    @property
    def question(self) -> dict[str, Any] | None:
        """What was asked of an ensemble when it was fitted: its kind, and the options that were given; else None."""
        match self.summary:
            case {"suspects": {"asked": {"kind": "absence" | "presence", **others} as asked}}:
                good = all(isinstance(value, _ASKED.get(str(key), ())) for key, value in others.items())
                return dict(asked) if good else None
        return None

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Rows and columns of the images that the data are, if they are."""
        match self.summary.get("shape"):
            case [int(high), int(wide)]:
                return high, wide
        return None

    @property
    def selection(self) -> pd.DataFrame | None:
        """The table by which the number of components was chosen, if it was."""
        file = self.path / f"{_SELECTION}.csv"
        return self._table(file.name, "n_components") if file.is_file() else None

    def _table(self, name: str, needed: str, *texts: str) -> pd.DataFrame:
        """A table of numbers with a column that is needed, but for the columns of texts and whether fits converged."""
        import numpy as np
        import pandas as pd

        file = self.path / name
        try:
            table = pd.read_csv(file)
            numbers = table.drop(columns=["converged", *texts], errors="ignore").fillna(0.0).to_numpy(dtype=float)
            good = len(table) > 0 and {needed, *texts} <= {*table.columns} and bool(np.isfinite(numbers).all())
        except (OSError, ValueError):  # also what is no UTF-8, or empty
            good = False
        if not good:
            raise DataError(f"{file} is damaged; fit again, or move the file away")
        return table
