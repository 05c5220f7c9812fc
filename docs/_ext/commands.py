"""A page for each command of the program, written before the site is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from latentbits.cli.main import COMMANDS

FOLDER = Path(__file__).resolve().parents[1] / "commands"
ABOUT = """Command line
============

``latentbits`` is one program with a command for each question. Every command has ``--help``; commands with output have
``--json`` and ``--quiet``. :doc:`The tour <../tour>` shows them in use, one after another, on a simulated table.

"""


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    found = {"index": ABOUT}
    for command in sorted(COMMANDS, key=lambda command: str(command.name)):
        name = str(command.name)
        found["index"] += f"- :doc:`{name}`: {command.get_short_help_str(200)}\n"
        place = f"{command.callback.__module__}:{name.replace('-', '_')}"
        found[name] = f".. click:: {place}\n   :prog: latentbits {name}\n"
    found["index"] += "\n.. toctree::\n   :hidden:\n\n" + "".join(
        f"   {name}\n" for name in sorted(found) if name != "index"
    )
    return found


def write(app: Any) -> None:
    """Write what has changed."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        file = FOLDER / f"{name}.rst"
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
