"""A browser without a network, and pages to open in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the report's tests drive a browser with playwright")

Open = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium; without it these tests are skipped, but not on CI."""
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("CI has to run the report's tests; install chromium")
        pytest.skip("no chromium here to open reports in")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a file in a window of its own, offline; at the end, nothing may have gone wrong or been asked for."""
    contexts, troubles = [], []

    def open_file(file: Path, scheme: str = "light") -> Any:
        context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: _note_foreign(request.url, file, troubles))
        page.goto(file.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert troubles == []


def _note_foreign(url: str, file: Path, troubles: list[str]) -> None:
    if url != file.as_uri() and not url.startswith(("data:", "blob:")):
        troubles.append(f"request: {url}")
