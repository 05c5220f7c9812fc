"""A test that hangs ends with its name, even inside compiled code."""

import subprocess
import sys
from pathlib import Path

SETTINGS = Path(__file__).parents[1] / "pyproject.toml"

# Compiled, without Python's lock, and deaf to signals: as a kernel is.
HANGING = """
import hashlib

def test_that_hangs():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
"""


def test_a_hang_in_compiled_code_is_ended(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGING)
    options = ["-c", SETTINGS, "-p", "no:cacheprovider", "-o", "timeout=1"]
    command = [sys.executable, "-m", "pytest", *map(str, options), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode != 0
    assert "Timeout" in ended.stdout + ended.stderr
    assert "test_that_hangs" in ended.stdout + ended.stderr


def test_every_test_has_a_limit(request):
    assert 60 <= float(request.config.getini("timeout")) <= 600
