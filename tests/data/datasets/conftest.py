"""Folders of data sets, and a machine without a network."""

from urllib.error import URLError

import pytest
from sklearn import datasets as sklearn_datasets

from tests.shared_data import FOLDER


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty data folder."""
    monkeypatch.setenv("LATENTBITS_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def real(monkeypatch):
    """The folder of real files."""
    monkeypatch.setenv("LATENTBITS_DATA", str(FOLDER))


@pytest.fixture
def offline(monkeypatch):
    """Fetchers as they are without a network."""

    def fail(*_, **__):
        raise URLError("no route to host.\nsecond line")

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fail)
    monkeypatch.setattr(sklearn_datasets, "fetch_20newsgroups", fail)
