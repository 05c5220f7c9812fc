"""Files as people have them: one table in every form reads to the same cells and names."""

from pathlib import Path

import pytest

from latentbits.data import read_table
from tests.data.file_variants import CELLS, SITES, VARIANTS, Variant
from tests.data.tables import cells

NEEDS_EXCEL = {name for name in VARIANTS if name.startswith("workbook")}


def test_there_are_many_variants() -> None:
    assert len(VARIANTS) >= 40


@pytest.mark.parametrize(("name", "variant"), VARIANTS.items(), ids=list(VARIANTS))
def test_every_variant_reads_to_the_same_table(tmp_path: Path, name: str, variant: Variant) -> None:
    if name in NEEDS_EXCEL:
        pytest.importorskip("openpyxl")
    data = read_table(variant.write(tmp_path), **variant.options)
    assert data.column_names == list(variant.columns)
    assert data.row_names == (SITES if variant.named_rows else None)
    assert cells(data) == CELLS
    assert data.metadata is None
    assert bool(data.notes) == variant.named_rows
