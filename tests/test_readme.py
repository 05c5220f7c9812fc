"""The README's Python works as it stands, and says what it does."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second, third, fourth = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    exec(_keeping_the_last(first, "rate"), names)
    assert "white" in names["model"].phantoms_
    exec(_keeping_the_last(second, "present") + _keeping_the_last(third, "compared"), names)
    assert names["present"].shape == (150, 64)
    assert 0.7 < names["rate"] < 1
    assert (names["clean"][names["noisy"].X == 1] == 1).all(), "only zeros were falsified"
    assert names["found"].table["n_components"].tolist() == [1, 4, 8]
    assert len(names["compared"]) == 4
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    exec(fourth.replace("n_init=1,", "n_init=1, max_iter=30, tol=1e-2,"), names)
    assert names["model"].weights_.shape == (1797, 10)
    assert len(list(tmp_path.glob("positions/*/run-0.npz"))) == 1


def _keeping_the_last(code, name):
    """The code, with the value of its last line under a name."""
    *_, last = code.strip().splitlines()
    return code.replace(last, f"{name} = {last}")
