"""`latentbits look`: what a file holds, before anything is fitted."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run, assert_refused

TREES = "Parcela;Año;Acer;Picea;Quercus\nP1;1990;3;0;0\nP2;1991;0;2;0\nP3;1990;1;1;0\nP4;1991;0;0;0\n"


def test_a_table_of_counts(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "trees.csv"
    file.write_text(TREES, encoding="utf-8")
    result = run("look", file, "--threshold", 1)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "trees.csv: 4 rows x 3 columns; 4 ones (33%), 8 zeros, no missing",
        'rows: P1, P2, P3, P4, named by "Parcela"; ones in each: 0 to 2, median 1',
        "columns: Acer, Picea, Quercus; ones in each: 0 to 2, median 2",
        "1 columns without a single 1, 0 of nothing else: these tell nothing of causes",
        'note: the column "Parcela" names the rows (unique texts)',
    ]
    assert 'the column "Año" is kept beside the rows (at least 1 in every row)' in result.stderr
    held = json.loads(run("look", file, "--threshold", 1, "--json").stdout)
    assert (held["rows"], held["metadata"], held["columns_without_ones"]) == (4, ["Año"], 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["trees.csv"], "nothing is written"


def test_a_table_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "trees.csv"
    file.write_text(TREES, encoding="utf-8")
    assert_refused(run("look", file), "line 2", "exclude=['Año']", "threshold=1 (--threshold 1)")
