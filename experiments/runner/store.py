"""Results on disk: claims as JSON, the table as CSV, figures as PNG.

OUT/ab_order.json, ab_order.csv, ab_order_aic.png     of a full run
OUT/quick/...                                         the same of a quick run, which never touches a full one
OUT/cache/ab/order/...                                finished jobs
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from dataclasses import asdict
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.runner.experiment import Experiment, ExperimentError, Found
from experiments.runner.files import write
from experiments.runner.fingerprint import fingerprint

if TYPE_CHECKING:
    import pandas as pd

    from experiments.runner.claims import Claim
    from experiments.runner.jobs import Record

__all__ = ["cache_folder", "full_runs", "judge_again", "older_jobs", "save", "scale_folder", "stored", "stored_table"]

FULL, QUICK = "full", "quick"
_LIBRARIES = ("latentbits", "numpy", "scipy", "scikit-learn", "numba", "pandas")

Result = dict[str, Any]


def scale_folder(out: Path, scale: str) -> Path:
    """Where results of a scale are."""
    return out if scale == FULL else out / QUICK


def cache_folder(out: Path, found: Found) -> Path:
    """Where an experiment's finished jobs are; a quick run and a full one share those that are the same."""
    return out / "cache" / found.name


def stored(out: Path) -> dict[str, Result]:
    """The stored results by experiment, those of full runs where there are any."""
    results: dict[str, Result] = {}
    for scale in (QUICK, FULL):
        for file in sorted(scale_folder(out, scale).glob("*.json")):
            result = json.loads(file.read_text(encoding="utf-8"))
            results[result["experiment"]] = result
    return results


def full_runs(out: Path) -> set[str]:
    """The names of the experiments of which a full run is stored."""
    return {name for name, result in stored(out).items() if result["scale"] == FULL}


def older_jobs(result: Result, run: str, library: str) -> int:
    """How many jobs of a stored result ran with other code than this; all of one that doesn't say with which."""
    code = result.get("code", {"run": "", "library": {}})
    same = code["library"].get(library, 0) if code["run"] == run else 0
    return int(result["jobs"] - same)


def save(found: Found, experiment: Experiment, records: list[Record], *, scale: str, out: Path, library: str) -> Result:
    """Evaluate the claims and draw the figures of an experiment's table, and store them."""
    import pandas as pd

    table = pd.DataFrame([{**record["job"], **row} for record in records for row in record["rows"]])
    claims = _judged(experiment, table)
    folder = scale_folder(out, scale)
    folder.mkdir(parents=True, exist_ok=True)
    figures = _save_figures(found, experiment, table, folder)
    shown = table[[name for name in table.columns if not name.startswith("_")]]
    write(folder / f"{found.stem}.csv", shown.to_csv(index=False, float_format="%.10g", lineterminator="\n"))
    caught = [text for record in records for text in record["warnings"]]
    result: Result = {
        "experiment": found.name,
        "title": experiment.title,
        "results": list(experiment.results),
        "scale": scale,
        "jobs": len(records),
        "seconds": round(sum(record["seconds"] for record in records), 1),
        "jobs_of_older_code": sum(record["library"] != library for record in records),
        "code": {"run": fingerprint(found.file), "library": dict(Counter(record["library"] for record in records))},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        "warnings": {text: caught.count(text) for text in sorted(set(caught))},
        "claims": claims,
        "figures": figures,
    }
    _write_result(folder / f"{found.stem}.json", result)
    return result


def judge_again(found: Found, experiment: Experiment, out: Path) -> Result:
    """Evaluate the claims anew from the table of a full run: a reason or a wording changed, the jobs did not."""
    file = scale_folder(out, FULL) / f"{found.stem}.json"
    if not file.exists():
        raise ExperimentError(f"there is no full run in {out}")
    try:
        claims = _judged(experiment, stored_table(file.with_suffix(".csv")))
    except KeyError as error:
        raise ExperimentError(f"the stored table has no column {error}; run it again") from error
    result: Result = {**json.loads(file.read_text(encoding="utf-8")), "claims": claims}
    _write_result(file, result)
    return result


def stored_table(file: Path) -> pd.DataFrame:
    """The table of a run as `judge` had it, but for the columns that begin with "_"."""
    import pandas as pd

    table = pd.read_csv(file, keep_default_na=False, na_values=[""])
    words = table.select_dtypes(exclude="number").columns
    table[words] = table[words].fillna("")
    return table


def _judged(experiment: Experiment, table: pd.DataFrame) -> list[dict[str, Any]]:
    claims = experiment.judge(table)
    check(experiment, claims)
    return [{**asdict(claim), "verdict": claim.verdict} for claim in claims]


def _write_result(file: Path, result: Result) -> None:
    write(file, json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def check(experiment: Experiment, claims: list[Claim]) -> None:
    """Refuse claims about results that the experiment doesn't declare, and declared results without a claim."""
    about = {claim.result for claim in claims}
    allowed = {*experiment.results, ""}
    if strange := sorted(about - allowed):
        raise ExperimentError(f"a claim is about {strange[0]!r}, which is not among results={experiment.results}")
    if left := [result for result in experiment.results if result not in about]:
        raise ExperimentError(f"results= names {left[0]!r}, but no claim is about it")
    if not claims:
        raise ExperimentError("there is no claim")


def _save_figures(found: Found, experiment: Experiment, table: pd.DataFrame, folder: Path) -> list[str]:
    """Draw, write, and remove what an earlier run drew under other names."""
    from matplotlib import rc_context

    from latentbits.plots.style import HOUSE

    with rc_context(HOUSE):
        figures = experiment.draw(table) if experiment.draw else {}
        names = []
        for name, figure in figures.items():
            names.append(f"{found.stem}_{name}.png")
            picture = BytesIO()
            figure.savefig(picture, format="png", dpi=120, metadata={"Software": None})
            write(folder / names[-1], picture.getvalue())
    file = folder / f"{found.stem}.json"
    earlier = json.loads(file.read_text(encoding="utf-8"))["figures"] if file.exists() else []
    for name in set(earlier) - set(names):
        (folder / name).unlink(missing_ok=True)
    return names
