"""What the tests of data share."""

from pathlib import Path
from typing import Any

import pytest

from latentbits.data import BinaryData, read_table
from tests.data.tables import Reader


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Write the content to a file and read it."""

    def write_and_read(content: str | bytes, name: str = "data.csv", **options: Any) -> BinaryData:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return write_and_read
