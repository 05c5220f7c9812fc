"""Check that every internal link of the built pages leads somewhere: `python docs/_ext/links.py build/docs`."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to or loads, and the places in it that others can link to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note addresses and places."""
        for name, value in attrs:
            if name in ("href", "src", "xlink:href") and value is not None and tag != "base":
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken(folder: Path) -> list[str]:
    """One sentence per broken link."""
    files = (file for file in sorted(folder.rglob("*.html")) if "_static" not in file.parts)  # templates of the theme
    pages = {file.resolve(): Page(file) for file in files}
    found = []
    for file, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            goal = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not goal.exists():
                found.append(f"{file.relative_to(folder.resolve())}: {target} is not there")
            elif parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].anchors:
                found.append(f"{file.relative_to(folder.resolve())}: {target} names no place there")
    return found


if __name__ == "__main__":
    troubles = broken(Path(sys.argv[1]))
    sys.stderr.write("".join(f"{trouble}\n" for trouble in troubles))
    sys.exit(bool(troubles))
