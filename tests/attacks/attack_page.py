"""Hostile names and ratings in the browser: nothing runs, nothing is requested, and tables come back as they were."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from latentbits import AspectBernoulli, read_table, simulate
from latentbits.data.binary_data import BinaryData
from tests.browser import needed_browser

SMALL = 1
LARGE = 60
SECONDS = 120

PROGRAMS = [
    "<script>alert(1)</script>",
    "<img src=http://localhost:9/x onerror=alert(1)>",
    "</script><script>fetch('http://localhost:9')</script>",
    "</style><style>@import url(http://localhost:9)</style>",
    "javascript:alert(1)",
    '" onmouseover="alert(1)',
    "<svg/onload=alert(1)>",
    "{{ 7 * 7 }}${alert(1)}",
    "-->]]><!--<iframe src=http://localhost:9>",
    "=HYPERLINK(A1)",
    "'=1+1",
    "@SUM(1)",
    "-2+3",
    "+cmd",
    "\u202egnp.exe",
    "__proto__",
    "constructor",
    "line\u2028end",
    'a,b\n"c"',
    "\0nul",
    "🐎" * 40,
]


def case(rng: np.random.Generator) -> None:
    browser = needed_browser()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = hostile_data(rng)
        model = AspectBernoulli(2, n_init=1, max_iter=30, random_state=0).fit(data)
        model.report(data, folder / "r.html")
        visit(rng, browser, data, folder)


def hostile_data(rng: np.random.Generator) -> BinaryData:
    """Every row and column has its own hostile name."""
    n_columns = int(rng.integers(3, 9))
    X = simulate.aspect_bernoulli(20, n_columns, 2, random_state=int(rng.integers(100))).X

    def names(n: int) -> list[str]:
        return [f"{PROGRAMS[k % len(PROGRAMS)]}{'' if k < len(PROGRAMS) else k}" for k in rng.permutation(40)[:n]]

    return BinaryData.of(X, row_names=names(20), column_names=names(n_columns))


def visit(rng: np.random.Generator, browser: Any, data: BinaryData, folder: Path) -> None:
    """Open the page, load ratings that are right or hostile, and save the cleaned table."""
    troubles: list[str] = []
    window = browser.new_context(offline=True)
    page = window.new_page()
    page.set_default_timeout(30_000)
    uri = (folder / "r.html").as_uri()
    page.on("console", lambda message: troubles.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: request.url == uri or _allowed(request.url) or troubles.append(request.url))
    try:
        page.goto(uri)
        ratings = json.loads(saved(page, "ratings.json"))
        for _ in range(3):
            (folder / "ratings.json").write_bytes(hostile_ratings(rng, ratings))
            page.locator("#load-ratings").set_input_files(folder / "ratings.json")
            page.evaluate("latentbits.settle()")
        assert all(0 <= rating <= 1 for rating in page.evaluate("latentbits.rated.ratings"))
        check_table(saved(page, "denoised.csv"), data, folder)
    finally:
        window.close()
    assert troubles == []


def _allowed(url: str) -> bool:
    return url.startswith(("data:", "blob:"))


def saved(page: Any, button: str) -> str:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def hostile_ratings(rng: np.random.Generator, ratings: dict[str, Any]) -> bytes:
    """What the page has saved itself, with a part of another type, hostile names, or damage."""
    values = [
        None,
        True,
        -1,
        2,
        1e308,
        "0.5",
        PROGRAMS[0],
        [],
        [[]],
        {},
        {"__proto__": 1},
        [None] * 2,
        [PROGRAMS[1]] * 2,
    ]
    values += [[0.5, 2], ["x"] * 9, [1e-320, 0.1], [{"row": 0, "column": 0, "mark": PROGRAMS[0]}]]
    values += [[{"row": PROGRAMS[0], "column": -1, "mark": "confirm"}], [{"row": 10**18, "column": {}, "mark": 3}]]
    changed = dict(ratings)
    if rng.random() < 0.8:
        name = str(rng.choice([*ratings, "marks", "__proto__"]))
        changed[name] = values[rng.integers(len(values))]
    content = json.dumps(changed).encode()
    if rng.random() < 0.3:
        content = [b"[" * 100_000, content[: len(content) // 2], b"\xff" + content, b"null", b"0"][rng.integers(5)]
    return content


def check_table(text: str, data: BinaryData, folder: Path) -> None:
    """No field of it begins a formula, and our reader gives the names back."""
    fields = [field for line in csv.reader(io.StringIO(text, newline="")) for field in line]
    assert not [field for field in fields if field.startswith(("=", "+", "-", "@", "\t", "\r"))]
    if "\0" in text:
        return  # which no reader of text takes, and says so
    (folder / "denoised.csv").write_text(text, encoding="utf-8", newline="")
    found = read_table(folder / "denoised.csv", row_labels=0)
    assert found.column_names == data.column_names
    assert found.row_names == data.row_names
