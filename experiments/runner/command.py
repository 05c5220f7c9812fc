"""`python -m experiments`: published tables and figures reproduced, the paper's number beside ours."""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import click

from experiments.runner import experiment as runner
from experiments.runner import page as pages
from experiments.runner import schedule, store
from experiments.runner.fingerprint import fingerprint, library_digest
from experiments.runner.schedule import Again
from latentbits.cli.main import Program
from latentbits.cli.terminal import FILE_PATH, REFUSED, Terminal, print_error, terminal_options
from latentbits.wording import counted

__all__ = ["main", "program"]

ALL = "all"
_OUT_HELP = "Where results are kept.  [default: experiments/results of the repository]"


class Chosen(NamedTuple):
    """experiments: those asked for. by_name: the names of those that were asked for one by one."""

    experiments: list[Any]
    by_name: set[str]


@click.group(cls=Program, epilog="Example: python -m experiments list")
def program() -> None:
    """Reproduce the tables and figures of the papers: the paper's number beside ours, and a verdict by rule."""


def main() -> None:
    """The entry point."""
    program(prog_name="python -m experiments")


@program.command(
    "list",
    short_help="What there is, and which results are stored.",
    epilog="Example: python -m experiments list --json",
)
@click.option("--out", type=FILE_PATH, metavar="DIR", help=_OUT_HELP)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_experiments(out: Path | None, as_json: bool) -> None:
    """List the experiments, the published results that they are about, and which results are stored."""
    folder = experiments_folder()
    stored = store.stored(out or folder / "results")
    rows = []
    for found in runner.find(folder):
        try:
            declared = runner.load(found.file)
            title, results = declared.title, list(declared.results)
        except runner.ExperimentError as error:
            title, results = str(error), []
        scale = stored[found.name]["scale"] if found.name in stored else None
        rows.append({"name": found.name, "title": title, "results": results, "stored": scale})
    terminal = Terminal(as_json=as_json)
    terminal.print_json(rows)
    wide = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        about = ", ".join(row["results"]) or "beyond the papers"
        terminal.print(f"{row['name']:{wide}}  {row['stored'] or 'not run':7}  {row['title']} ({about})")


@program.command(
    "run",
    short_help="Run some or all; finished work is kept.",
    epilog="Example: python -m experiments run ab/order --full",
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--quick/--full", default=True, help="A part of the work, in minutes, or all of it.  [default: quick]")
@click.option("--out", type=FILE_PATH, metavar="DIR", help=_OUT_HELP)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes at a time.  [default: one per core]")
@click.option("--fresh", is_flag=True, help="Run again what is finished already.")
@click.option("--stale", is_flag=True, help="Run again what ran with older code of the library; resumes after Ctrl-C.")
@terminal_options
def run_experiments(
    names: tuple[str, ...],
    quick: bool,
    out: Path | None,
    jobs: int | None,
    fresh: bool,
    stale: bool,
    terminal: Terminal,
) -> None:
    """Run experiments: NAME is one that "list" shows, a family such as "ab", or "all".

    Finished work is kept, so that an interrupted run resumes where it stopped. Results of --full are never replaced
    by those of --quick, which have their own folder. The page RESULTS.md is updated at the end.
    """
    folder = experiments_folder()
    chosen = _chosen(names, folder)
    out = out or folder / "results"
    outcomes = schedule.run_experiments(
        chosen.experiments,
        full=not quick,
        out=out.absolute(),
        n_jobs=jobs or _cores(),
        again=Again.ALL if fresh else Again.OLDER if stale else Again.NOTHING,
        progress=terminal.shows_progress and sys.stderr.isatty(),
    )
    results, refused = [], False
    for outcome in outcomes:
        if outcome.result is not None:
            results.append(outcome.result)
            _print_claims(outcome.result, terminal)
            continue
        refused |= not outcome.missing or outcome.name in chosen.by_name
        print_error(f"{outcome.name}{' is not run' if outcome.missing else ''}: {outcome.reason}")
    terminal.print_json(results)
    page = _write_page(folder, out)
    terminal.print(f"All results are in {page}.")
    if refused:
        click.get_current_context().exit(REFUSED)


@program.command(
    "judge",
    short_help="Judge stored full runs again.",
    epilog="Example: python -m experiments judge ab/likelihood",
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--out", type=FILE_PATH, metavar="DIR", help=_OUT_HELP)
@terminal_options
def judge_experiments(names: tuple[str, ...], out: Path | None, terminal: Terminal) -> None:
    """Evaluate the claims of stored full runs again, from their tables: no job is run, no figure drawn.

    For claims that were reworded or got a reason; a claim that needs more than the stored table has is refused.
    """
    folder = experiments_folder()
    out = out or folder / "results"
    chosen, full = _chosen(names, folder), store.full_runs(out)
    results, refused = [], False
    for found in chosen.experiments:
        if found.name not in full and found.name not in chosen.by_name:
            continue
        try:
            results.append(store.judge_again(found, runner.load(found.file), out))
            _print_claims(results[-1], terminal)
        except runner.ExperimentError as error:
            refused = True
            print_error(f"{found.name}: {error}")
    terminal.print_json(results)
    terminal.print(f"All results are in {_write_page(folder, out)}.")
    if refused:
        click.get_current_context().exit(REFUSED)


@program.command(
    "stale",
    short_help="Which results are of older code, and how long a new run takes.",
    epilog="Example: python -m experiments stale binary_ica",
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--out", type=FILE_PATH, metavar="DIR", help=_OUT_HELP)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_stale(names: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """List the experiments whose stored jobs ran with other code than today's, or that have no full run.

    The seconds of processor time are those of the stored run; divide them by --jobs. A long sweep can be cut into
    nights by names; "run NAME... --full --stale" keeps what ran with today's code.
    """
    folder = experiments_folder()
    results, library, rows = store.stored(out or folder / "results"), library_digest(), []
    for found in _chosen(names or (ALL,), folder).experiments:
        result, n_jobs = results.get(found.name), len(list(runner.load(found.file).jobs(True)))
        older, seconds = n_jobs, None
        if result and result["scale"] == store.FULL:
            older = store.older_jobs(result, fingerprint(found.file), library)
            seconds = round(result["seconds"] * older / result["jobs"])
        if older:
            rows.append({"name": found.name, "jobs": n_jobs, "older": older, "seconds": seconds})
    terminal = Terminal(as_json=as_json)
    terminal.print_json(rows)
    wide = max((len(row["name"]) for row in rows), default=0)
    for row in sorted(rows, key=lambda row: row["seconds"] or 0):
        told = "no full run" if row["seconds"] is None else f"{row['seconds']:,} s"
        terminal.print(f"{row['name']:{wide}}  {told:>12}  {row['older']} of {counted(row['jobs'], 'job')}")
    total = sum(row["seconds"] or 0 for row in rows)
    terminal.print(f"{counted(len(rows), 'experiment')}, {total / 3600:.1f} hours of one core where it is known")


@program.command(
    "page", short_help="Write RESULTS.md from stored results.", epilog="Example: python -m experiments page"
)
@click.option("--out", type=FILE_PATH, metavar="DIR", help=_OUT_HELP)
def write_page(out: Path | None) -> None:
    """Write RESULTS.md from the stored results, one row per published result, and one page per paper."""
    folder = experiments_folder()
    click.echo(f"Wrote {_write_page(folder, out or folder / 'results')}.")


def experiments_folder() -> Path:
    """The folder of experiments: that of the working directory, if there is one, or else that of this file."""
    here = Path.cwd() / "experiments"
    return here if (here / "runner").is_dir() else Path(__file__).resolve().parents[1]


def _chosen(names: tuple[str, ...], folder: Path) -> Chosen:
    """The experiments that names, families and "all" refer to, each once and in the order of the list."""
    found = runner.find(folder)
    known, families = {one.name for one in found}, {one.family for one in found}
    for name in names:
        if name not in known | families | {ALL}:
            near = difflib.get_close_matches(name, [*known, *families], n=1)
            hint = f'did you mean "{near[0]}"?' if near else '"python -m experiments list" shows all'
            raise click.UsageError(f'there is no experiment or family "{name}"; {hint}')
    asked = set(names)
    return Chosen([one for one in found if asked & {one.name, one.family, ALL}], asked & known)


def _write_page(folder: Path, out: Path) -> Path:
    return pages.write_page(folder, out, {found.name: found for found in runner.find(folder)})


def _print_claims(result: dict[str, Any], terminal: Terminal) -> None:
    """Print the claims, one line each, and a warning if jobs ran with older code."""
    name, n_jobs, older = result["experiment"], result["jobs"], result["jobs_of_older_code"]
    terminal.print(f"{name}: {result['title']} ({result['scale']}, {counted(n_jobs, 'job')})")
    for claim in result["claims"]:
        terminal.print(f"    {claim['verdict']:12}  {claim['statement']}: {claim['ours']} (paper: {claim['paper']})")
    if older:
        again = "--stale runs them again"
        warnings.warn(f"{name}: {older} of {n_jobs} jobs ran with older code of the library; {again}", stacklevel=2)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
