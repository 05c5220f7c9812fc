"""Assertions that are easy to get wrong, written once."""

import numpy as np


def assert_nondecreasing(trace, slack=0.0):
    """Every step of the trace rises or stays, up to `slack`; one point alone proves nothing."""
    trace = np.asarray(trace, dtype=float)
    assert trace.ndim == 1
    assert len(trace) >= 2, "a trace needs two points"
    assert np.isfinite(trace).all(), "a trace is finite"
    falls = trace[:-1] - trace[1:]
    worst = int(falls.argmax())
    assert falls[worst] <= slack, f"step {worst} falls by {falls[worst]:g}, more than {slack:g}"
