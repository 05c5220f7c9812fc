"""Build wheel and sdist, install each where nothing else is, and try what a new user tries: `make wheel`.

`python tools/check_wheel.py [newest | oldest] [--python PROGRAM]`. "oldest" pins every runtime dependency to the lowest
version that pyproject.toml allows. Tried are: the import (with warnings as errors, within its time, without heavy
modules), the command line, the first fit with nothing compiled, and the demo.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
IMPORT_SECONDS = 0.4
FIT_SECONDS = 12.0
HEAVY = ("numba", "matplotlib", "pandas", "sklearn", "scipy")
FIT = """
import latentbits as lb
X = lb.simulate.aspect_bernoulli(120, 60, 4, random_state=0).X
lb.AspectBernoulli(4, n_init=1, max_iter=50, tol=1e-2, random_state=0).fit(X)
"""


def main() -> int:
    """Build, install, try; return 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="?", choices=["newest", "oldest"], default="newest")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--kinds", nargs="+", choices=["wheel", "sdist"], default=["wheel", "sdist"])
    wanted = parser.parse_args()
    files = built()
    slow: list[str] = []
    for kind in wanted.kinds:
        with tempfile.TemporaryDirectory() as name:
            say(f"{files[kind].name}, {wanted.versions} dependencies, {wanted.python}")
            slow += try_in(Path(name), files[kind], wanted.versions == "oldest", wanted.python)
    return len(slow)


def built() -> dict[str, Path]:
    """Wheel and sdist, made now."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], ROOT)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def oldest() -> list[str]:
    """The runtime dependencies, each pinned to the lowest version that is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.sub(r">=([\d.]+).*", r"==\1.*", dependency) for dependency in project["dependencies"]]


def try_in(folder: Path, package: Path, lowest: bool, python: str) -> list[str]:
    """Install into a new environment without anything else, and try it there; return what took too long."""
    run([python, "-m", "venv", str(folder / "venv")], folder)
    program = str(folder / "venv" / "bin" / "python")
    pins = oldest() if lowest else []
    run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package), *pins], folder)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["NUMBA_CACHE_DIR"] = str(folder / "compiled")
    strict = [program, "-W", "error"]
    loaded = f"import sys, latentbits; heavy = [m for m in {HEAVY!r} if m in sys.modules]; assert not heavy, heavy"
    run([*strict, "-c", loaded], folder, environment)
    took = {
        "import": (seconds_of([*strict, "-c", "import latentbits"], folder, environment), IMPORT_SECONDS),
        "first fit, nothing compiled": (seconds_of([*strict, "-c", FIT], folder, environment), FIT_SECONDS),
    }
    for what, (seconds, most) in took.items():
        say(f"  {what}: {seconds:.2f} CPU s (at most {most:g}){'' if seconds <= most else ': too slow'}")
    run([*strict, "-m", "latentbits", "--help"], folder, environment)
    run([*strict, "-m", "latentbits", "demo", "--out", "demo"], folder, environment)
    if not (folder / "demo" / "report.html").exists():
        sys.exit("latentbits demo left no report")
    say("  latentbits demo: done")
    return [what for what, (seconds, most) in took.items() if seconds > most]


def seconds_of(words: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Processor time of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(words, folder, environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(words: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    """Run a program; end with what it said if it fails."""
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
