"""The README's Python works as it stands, and says what it does."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.mark.filterwarnings("ignore:.*rows have no weight")
def test_the_python_of_the_readme_runs():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    *_, last = code.strip().splitlines()
    names: dict = {}
    exec(code.replace(last, f"rate = {last}"), names)
    assert "white" in names["model"].phantoms_
    assert 0.7 < names["rate"] < 1
    assert (names["clean"][names["noisy"].X == 1] == 1).all(), "only zeros were falsified"
