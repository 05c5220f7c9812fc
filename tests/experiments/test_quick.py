"""The quickest of the real experiments from beginning to end; all of them take some twelve minutes with --quick."""

import json

import pytest
from click.testing import CliRunner

from experiments.runner.command import program
from tests.shared_data import needs_data


@pytest.mark.parametrize(
    "name", ["binary_factors/encoders", pytest.param("bica/monks", marks=needs_data("sampson_monks.npz"))]
)
def test_a_real_experiment(tmp_path, name):
    result = CliRunner().invoke(program, ["run", name, "--quick", "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)
    assert found["experiment"] == name
    assert found["scale"] == "quick"
    assert all(claim["verdict"] != "not run" for claim in found["claims"])
    assert all((tmp_path / "quick" / figure).is_file() for figure in found["figures"])
    page = "".join(file.read_text(encoding="utf-8") for file in tmp_path.glob("*.md"))
    assert all(claim["ours"].replace("|", "\\|") in page for claim in found["claims"])
