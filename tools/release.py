"""The release checklist, as a program: `make release-check`. It changes nothing; what is wrong it says in a sentence.

1. The version is the same everywhere, and no other commit is tagged with it.
2. The changelog has an entry for it, with a date.
3. Nothing is left uncommitted.
4. The README's table is the measured one.
5. The site builds without a warning: `make docs`.
6. Stored models of all versions open (part of the tests), all tests pass, those of the built site too: `make test`.
7. Wheel and sdist install and work where nothing else is: `make wheel`.

Then a person tags (`git tag v0.2.0`), pushes the tag and makes the release on GitHub, which publishes `dist/`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))


def troubles() -> Iterator[str]:
    """A sentence for each thing that stands in the way of a release, of those that need no build."""
    version = _found(r'__version__ = "(.*)"', ROOT / "src" / "latentbits" / "version.py")
    cited = _found(r"^version: (.*)$", ROOT / "CITATION.cff")
    if cited != version:
        yield f"CITATION.cff has version {cited}, the library {version}; make them the same"
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", _text(ROOT / "CHANGELOG.md"), re.MULTILINE):
        yield f'CHANGELOG.md has no heading "## {version} (year-month-day)"; date the entry'
    tag = f"v{version}"
    if _git("tag", "--list", tag) and _git("rev-list", "-n", "1", tag) != _git("rev-parse", "HEAD"):
        yield f"another commit is tagged {tag} already; raise the version"
    if _git("status", "--porcelain"):
        yield "there are uncommitted changes; commit them"
    from measured import with_table

    readme = _text(ROOT / "README.md")
    if with_table(readme) != readme:
        yield "the README's table isn't the measured one; run python docs/_ext/measured.py README.md"


def main() -> int:
    """Say what is wrong; then build and try everything."""
    found = list(troubles())
    sys.stderr.write("".join(f"- {trouble}\n" for trouble in found))
    if found:
        return 1
    for target in ("docs", "test", "wheel"):  # tests look at the site
        if subprocess.run(["make", target], cwd=ROOT, check=False).returncode:
            return 1
    sys.stdout.write("ready: tag it, push the tag, and make the release\n")
    return 0


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _found(pattern: str, file: Path) -> str:
    match = re.search(pattern, _text(file), re.MULTILINE)
    if match is None:
        sys.exit(f"{file.name} has nothing like {pattern}")
    return match[1]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
