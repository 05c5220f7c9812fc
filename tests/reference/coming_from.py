"""The calls of docs/coming-from.md, as they stand there."""

from pathlib import Path
from typing import Any

import latentbits

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"


def line(theirs: str, **names: Any) -> Any:
    """What the first call beside another package's gives, with its `X` and other names."""
    (cells,) = (
        row.split(" | ")[:2] for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith(f"| `{theirs}")
    )
    return eval(cells[1].split("`")[1], {"lb": latentbits, **names})
