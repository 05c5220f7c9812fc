"""Files that are written completely or not at all, whenever a run ends."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write"]


def write(file: Path, content: str | bytes) -> None:
    """Write a temporary file, then rename it. (The library's own function would import half of it in every worker.)"""
    draft = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
