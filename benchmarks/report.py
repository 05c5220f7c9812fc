"""Size of a report of 500 x 500 cells with 10 components, how fast it opens, and how fast a slider redraws it.

Run: python benchmarks/report.py (needs playwright and chromium). No peer makes such a
page; the goals are 0.8 MB, 1 s and 50 ms.
"""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from latentbits import AspectBernoulli, simulate

N, K, MOVES, OPENINGS = 500, 10, 40, 7


def main() -> None:
    """Write the report, open it several times, and move a slider."""
    X = simulate.aspect_bernoulli(N, N, K, white_phantom=True, sharpness=0.2, random_state=0).X
    model = AspectBernoulli(K, n_init=5, random_state=0, n_jobs=-1).fit(X)
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "report.html"
        model.report(X, file)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened = [_seconds_to_open(browser, file) for _ in range(OPENINGS)]
        moved = {where: _milliseconds_of_moves(browser, file, where) for where in ("#components", "#suspects")}
        browser.close()
        print(f"{N} x {N} cells, {K} components: {file.stat().st_size / 1000:.0f} kB")
    print(f"opens in {statistics.median(opened):.2f} s (median of {OPENINGS}; worst {max(opened):.2f})")
    for where, times in moved.items():
        moves = f"median of {MOVES}; from {min(times):.0f}, nine of ten under {sorted(times)[int(0.9 * MOVES)]:.0f}"
        print(f"a move of a slider with {where} in sight takes {statistics.median(times):.0f} ms until drawn ({moves})")


def _seconds_to_open(browser, file: Path) -> float:
    page = browser.new_page()
    page.goto(file.as_uri())
    page.locator("#counts", has_text="By these ratings").wait_for()
    seconds = page.evaluate("performance.now()") / 1000
    page.close()
    return seconds


def _milliseconds_of_moves(browser, file: Path, where: str) -> list[float]:
    """From the slider's event until the frame after it has been drawn, this section at the top of the window."""
    page = browser.new_page()
    page.goto(file.as_uri())
    page.locator(where).evaluate("(section) => section.scrollIntoView()")
    page.wait_for_timeout(300)
    script = """async (n) => {
        const slider = document.querySelector("[type=range]"), times = [];
        for (let i = 0; i < n; i++) {
            await new Promise(requestAnimationFrame);
            const start = performance.now();
            slider.value = (i % 10) / 10 + 0.05;
            slider.dispatchEvent(new Event("input"));
            document.body.offsetHeight;  // lay the page out
            times.push(performance.now() - start);
        }
        return times;
    }"""
    times = page.evaluate(script, MOVES)
    page.close()
    return times


if __name__ == "__main__":
    main()
