"""`make attack`: all attacks in a large dose, or those that are named; it goes on where it was interrupted."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
from pathlib import Path

import pytest

from latentbits.version import __version__
from tests.attacks.frame import BUSY, Attack, Record, attack_names, load_attack

RECORDS = Path(".attacks")


def reason_of(error: BaseException) -> str:
    """What went wrong and where, on one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"{type(error).__name__} at {place}: {' '.join(str(error).split())[:300]}"


def failure(attack: Attack, seed: int, number: int) -> str | None:
    """None if the case is in order, otherwise what went wrong."""
    # A kernel that hangs can't be interrupted: then the process ends with a traceback, and the record has the case.
    faulthandler.dump_traceback_later(2 * BUSY * attack.seconds, exit=True, file=sys.__stderr__)
    try:
        attack.try_case(seed, number)
    except (Exception, pytest.skip.Exception) as error:  # what could not be tried has not passed
        return reason_of(error)
    finally:
        faulthandler.cancel_dump_traceback_later()
    return None


def run(attack: Attack, seed: int, n_cases: int) -> Record:
    """Try what is left of the cases, and again those that failed; print and keep what went wrong."""
    record = Record.at(RECORDS / f"{attack.name}-{seed}.json")
    for number in [*sorted(record.failed), *range(record.done, n_cases)]:
        record.failed[number] = "the process ended during this case"
        record.done = max(record.done, number + 1)
        record.save()
        began = time.process_time()
        reason = failure(attack, seed, number)
        record.seconds += time.process_time() - began
        if reason is None:
            del record.failed[number]
        else:
            record.failed[number] = reason
            print(f"  FAILED {attack.name} --seed {seed} --case {number}: {reason}", flush=True)
    record.save()
    return record


def counts_of(records: dict[str, Record], seed: int) -> str:
    """A table of what was tried."""
    lines = [
        f"# Attacks on latentbits {__version__}",
        "",
        f"Written by `python -m tests.attacks --seed {seed} --counts tests/attacks/COUNTS.md`: cases tried, cases that",
        "failed, and CPU seconds of the process that tried them (commands and workers that it starts are not counted).",
        "The command goes on where it was interrupted and tries what had failed again, so cases that were in order",
        "before a mend are counted without being tried again; `--again` begins anew.",
        "",
        "| attack | what | cases | failures | CPU s |",
        "|---|---|---:|---:|---:|",
    ]
    for name, record in records.items():
        about = load_attack(name).about.rstrip(".")
        lines.append(f"| {name} | {about} | {record.done:,} | {len(record.failed)} | {record.seconds:,.0f} |")
    total = sum(record.done for record in records.values()), sum(len(record.failed) for record in records.values())
    seconds = sum(record.seconds for record in records.values())
    return "\n".join([*lines, f"| together | | {total[0]:,} | {total[1]} | {seconds:,.0f} |", ""])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(attack_names())} (default: all)")
    parser.add_argument("--dose", type=float, default=1.0, help="times as many cases (default: 1, half an hour)")
    parser.add_argument("--seed", type=int, default=0, help="another seed has other cases (default: 0)")
    parser.add_argument("--case", type=int, help="replay this case alone, with its traceback")
    parser.add_argument(
        "--counts", type=Path, metavar="FILE", help="write how many cases were tried, and failed, there"
    )
    parser.add_argument("--again", action="store_true", help="from the first case, whatever has been done")
    options = parser.parse_args()
    names = options.names or attack_names()
    if unknown := sorted(set(names) - set(attack_names())):
        parser.error(f"no attack {', '.join(unknown)}; there are {', '.join(attack_names())}")
    if options.case is not None:
        for name in names:
            load_attack(name).try_case(options.seed, options.case)
            print(f"{name}: case {options.case} of seed {options.seed} is in order")
        return 0
    records: dict[str, Record] = {}
    for name in names:
        if options.again:
            (RECORDS / f"{name}-{options.seed}.json").unlink(missing_ok=True)
        attack = load_attack(name)
        records[name] = record = run(attack, options.seed, round(attack.large * options.dose))
        print(
            f"{name}: {record.done} cases, {len(record.failed)} failures ({record.seconds:.0f} CPU s); {attack.about}"
        )
    failures = sum(len(record.failed) for record in records.values())
    print(f"together: {sum(record.done for record in records.values())} cases, {failures} failures")
    if options.counts is not None:
        options.counts.write_text(counts_of(records, options.seed))
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
