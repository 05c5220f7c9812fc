"""`make attack`: all attacks in a large dose, or those that are named; it goes on where it was interrupted."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
from pathlib import Path

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
    except Exception as error:
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
        reason = failure(attack, seed, number)
        if reason is None:
            del record.failed[number]
        else:
            record.failed[number] = reason
            print(f"  FAILED {attack.name} --seed {seed} --case {number}: {reason}", flush=True)
    record.save()
    return record


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(attack_names())} (default: all)")
    parser.add_argument("--dose", type=float, default=1.0, help="times as many cases (default: 1, some minutes)")
    parser.add_argument("--seed", type=int, default=0, help="another seed has other cases (default: 0)")
    parser.add_argument("--case", type=int, help="replay this case alone, with its traceback")
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
    cases = failures = 0
    for name in names:
        if options.again:
            (RECORDS / f"{name}-{options.seed}.json").unlink(missing_ok=True)
        attack = load_attack(name)
        began = time.process_time()
        record = run(attack, options.seed, round(attack.large * options.dose))
        seconds = time.process_time() - began
        print(f"{name}: {record.done} cases, {len(record.failed)} failures ({seconds:.0f} CPU s now); {attack.about}")
        cases, failures = cases + record.done, failures + len(record.failed)
    print(f"together: {cases} cases, {failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
