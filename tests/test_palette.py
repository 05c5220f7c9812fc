"""The palette: every colour can be seen where it is used, and page and plots have the same ones."""

from __future__ import annotations

import re

import pytest

from latentbits import palette
from latentbits.palette import DARK, LIGHT, MARKS, NOISE, SERIES, TEXT, contrast
from latentbits.plots import style
from latentbits.report.frame import framed

SCHEMES = {"light": LIGHT, "dark": DARK}


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#123456", "#123456") == 1


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_can_be_read(scheme: str, name: str) -> None:
    colours = SCHEMES[scheme]
    assert contrast(colours[name], colours["paper"]) >= 4.5
    assert contrast(colours[name], colours["ground"]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
def test_marks_and_borders_can_be_seen(scheme: str) -> None:
    colours = SCHEMES[scheme]
    marks = {name: colours[name] for name in MARKS} | dict(enumerate(SERIES)) | NOISE
    low = {name: colour for name, colour in marks.items() if contrast(colour, colours["paper"]) < 3}
    assert low == {}
    assert contrast(colours["one"], colours["zero"]) >= 3
    for cells in ("zero", "one"):  # a ring stands on the cells, within a line of paper
        assert max(contrast(colours["found"], colours[cells]), contrast(colours["paper"], colours[cells])) >= 3


def test_both_schemes_have_the_same_meanings() -> None:
    assert LIGHT.keys() == DARK.keys()


def test_pages_and_plots_have_this_palette_and_no_other() -> None:
    page = framed("Found.")
    for colours in SCHEMES.values():
        assert all(f"--{name}: {colour}" in page for name, colour in colours.items())
    assert LIGHT["value"] == style.BEST
    known = {*LIGHT.values(), *DARK.values(), *SERIES, *NOISE.values(), *palette.SHARES.values()}
    shown = set(re.findall(r"#[0-9a-f]{6}\b", page))
    assert shown <= known
