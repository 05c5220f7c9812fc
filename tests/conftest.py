"""What all tests rely on."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_arrives():
    """Programs that a shell starts in the background ignore Ctrl-C, and with it what these tests send themselves."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
