"""Debian's chromium, opened once a process: playwright can't be started twice in one."""

from __future__ import annotations

import atexit
import os
import shutil
from functools import cache
from typing import Any

import pytest

__all__ = ["chromium", "needed_browser", "unavailable"]


@cache
def chromium() -> Any:
    """The browser; None without chromium or playwright."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if program is None:
        return None
    driver = sync_playwright().start()
    opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
    atexit.register(lambda: (opened.close(), driver.stop()))
    return opened


def needed_browser() -> Any:
    """The browser; without it the test that asks is skipped, but not on CI."""
    if chromium() is None:
        unavailable("there is no chromium here, or no playwright")
    return chromium()


def unavailable(what: str) -> None:
    """Skip the test, but not on CI."""
    if os.environ.get("CI"):
        pytest.fail(f"CI has to run this test: {what}")
    pytest.skip(what)
