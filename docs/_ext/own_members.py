"""Reference pages list what latentbits defines, not the members of scikit-learn's and Python's own types."""

import inspect
import re
from types import BuiltinFunctionType, GetSetDescriptorType, MethodDescriptorType
from typing import Any

from sphinx.application import Sphinx

BUILTIN = BuiltinFunctionType | GetSetDescriptorType | MethodDescriptorType
"""Members of float, tuple and Exception: these name no module."""


def leave_out(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Whether autodoc is to leave a member out: True if another library defines it, None for the usual rule."""
    function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
    home = getattr(function, "__module__", "") or ""
    from_elsewhere = isinstance(member, BUILTIN) or (home and not home.startswith("latentbits"))
    is_member = what in ("class", "exception") and not name.startswith("_")
    return True if (is_member and from_elsewhere) or name.startswith("set_") else None


def keep_underscores(app: Sphinx, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """Escape names of fitted attributes (`n_iter_`), which reStructuredText would take for links."""
    for at, line in enumerate(lines):
        if ">>>" not in line:
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [re.sub(r"(?<![\w*])(\w+)_(?=[\s,.;:)\]]|$)", r"\1\_", part) for part in parts[::2]]
            lines[at] = "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to autodoc."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", keep_underscores, priority=900)  # after numpydoc
    return {"parallel_read_safe": True}
