"""The folder of data sets that aren't bundled: how it is named."""

import os
import subprocess
import sys

import pytest

from experiments import data as experiment_data
from latentbits.datasets import data_folder


class TestDataFolder:
    def test_not_set(self, monkeypatch):
        monkeypatch.delenv("LATENTBITS_DATA", raising=False)
        assert data_folder() is None

    def test_set(self, folder):
        assert data_folder() == folder

    def test_names_no_folder(self, monkeypatch, tmp_path):
        file = tmp_path / "file"
        file.touch()
        for path in (file, tmp_path / "nowhere"):
            monkeypatch.setenv("LATENTBITS_DATA", str(path))
            with pytest.raises(FileNotFoundError, match=r"LATENTBITS_DATA names .*not a folder"):
                data_folder()


class TestUseSharedFolder:
    """The folder beside the repository."""

    def test_names_the_folder_for_workers_too(self, monkeypatch, tmp_path):
        monkeypatch.setenv("LATENTBITS_DATA", "")  # counts as not set, and comes back after the test
        monkeypatch.setattr(experiment_data, "FALLBACK", tmp_path)
        experiment_data.use_shared_folder()
        assert data_folder() == tmp_path
        asked = [sys.executable, "-c", "import os; print(os.environ['LATENTBITS_DATA'])"]
        assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == str(tmp_path)

    def test_leaves_a_named_folder(self, monkeypatch, tmp_path, folder):
        other = tmp_path / "other"
        other.mkdir()
        monkeypatch.setattr(experiment_data, "FALLBACK", other)
        experiment_data.use_shared_folder()
        assert data_folder() == folder

    def test_without_the_folder_nothing_is_named(self, monkeypatch, tmp_path):
        monkeypatch.setenv("LATENTBITS_DATA", "")
        monkeypatch.setattr(experiment_data, "FALLBACK", tmp_path / "nowhere")
        experiment_data.use_shared_folder()
        assert not os.environ["LATENTBITS_DATA"]
