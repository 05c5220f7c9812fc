"""What all tests rely on, and how examples in docstrings are run."""

import os
import signal

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers fill the cores: with threads of its own, each worker's BLAS spends a fifth of all time on waiting.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure() -> None:
    """Workers are told the width of the window that started them, by which programs would wrap what they print."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_arrives():
    """Programs that a shell starts in the background ignore Ctrl-C, and with it what these tests send themselves."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Run the examples of public names as if pasted into a new interpreter, without the globals of their module."""
    examples = [item for item in items if isinstance(item, pytest.DoctestItem)]
    if examples:
        from tests.public_names import public

        for item in examples:
            if item.dtest.name in public():
                item.dtest.globs = {"__name__": "__main__"}
