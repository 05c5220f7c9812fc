"""Pictures of measured figures, written as SVG into the folder of the pages, so that a code host shows them too."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from math import log10

from measured import measured, rivals

from latentbits.palette import LIGHT

STEP, LEFT, WIDTH, RIGHT = 30, 290, 380, 70
SPEEDS = {
    "tetrachoric_times": "tetrachoric, beside ordinalcorr",
    "speed_nbmf": "AspectBernoulli, beside nbmf-mm",
    "speed_jamica": "ICAMixture, beside jamica",
    "speed_stepmix": "BernoulliMixture, beside StepMix",
    "speed_probit_numpy": "ProbitFactors, beside NumPy",
    "speed_numpyro": "BetaICA (Gibbs), beside NumPyro",
    "speed_minibatch_nmf": "sparse tables, beside MiniBatchNMF",
}


def _dots(lines: dict[str, dict[str, float]], ticks: dict[str, float], title: str, *, ours: str = "") -> str:
    """Lines of dots over a scale from 0 to 1: `lines` has the places of named dots, `ours` the line that stands out."""
    height = 66 + STEP * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="14" fill="{LIGHT["ink"]}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{LIGHT["paper"]}"/>',
    ]
    for words, place in ticks.items():
        x = LEFT + WIDTH * place
        parts.append(f'<path d="M{x:.0f} 12V{height - 46}" stroke="{LIGHT["line"]}"/>')
        parts.append(f'<text x="{x:.0f}" y="{height - 28}" text-anchor="middle" fill="{LIGHT["quiet"]}">{words}</text>')
    for i, (name, dots) in enumerate(lines.items()):
        y = 30 + STEP * i
        stands_out = name == ours
        weight = ' font-weight="700"' if stands_out else ""
        colour = LIGHT["found"] if stands_out else LIGHT["value"]
        parts.append(f'<text x="{LEFT - 16}" y="{y + 5}" text-anchor="end"{weight}>{escape(name)}</text>')
        for words, place in dots.items():
            x = LEFT + WIDTH * place
            about = f"<title>{escape(words)}</title>"
            parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="6" fill="{colour}" fill-opacity=".85">{about}</circle>')
        last, place = max(dots.items(), key=lambda dot: dot[1])
        x = LEFT + WIDTH * place + 12
        parts.append(f'<text x="{x:.1f}" y="{y + 5}" fill="{LIGHT["quiet"]}"{weight}>{last.split()[-1]}</text>')
    below = f'x="{LEFT + WIDTH / 2:.0f}" y="{height - 8}" text-anchor="middle" fill="{LIGHT["quiet"]}"'
    parts.append(f"<text {below}>{escape(title)}</text>")
    return "\n".join([*parts, "</svg>\n"])


def of_rivals() -> str:
    """Average precision of each model on each visit."""
    (_, *names), *visits = rivals()
    shown: dict[str, dict[str, float]] = {}
    for visit, *cells in visits:
        for name, cell in zip(names, cells, strict=True):
            precision = float(cell.strip("*").split(" / ")[1])
            shown.setdefault(name.strip("*"), {})[f"{visit} {precision:.2f}"] = precision / 0.5
    ticks = {f"{tick:.1f}": tick / 0.5 for tick in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)}
    return _dots(shown, ticks, "average precision: zeros of one visit that other visits refute", ours="FalseZeros")


def of_speeds() -> str:
    """How many times faster than its peer each fit is."""
    lowest, highest = -1.0, 4.0

    def place(times: float) -> float:
        return (log10(times) - lowest) / (highest - lowest)

    shown = {}
    for name, words in SPEEDS.items():
        times = measured(name)
        shown[words] = {f"{times}": place(float(times.replace(",", "")))}
    ticks = {f"{10.0**power:,g}": place(10.0**power) for power in range(int(lowest), int(highest) + 1)}
    return _dots(shown, ticks, "times as fast at equal quality; below 1 the peer is faster")


PICTURES: dict[str, Callable[[], str]] = {"rivals.svg": of_rivals, "speeds.svg": of_speeds}
"""What draws each picture."""
