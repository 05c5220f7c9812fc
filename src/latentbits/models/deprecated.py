"""Old names of what estimators have, which work for one version with a warning."""

from __future__ import annotations

from typing import Any

from latentbits.errors import warn_user


class Renamed:
    """The old name of a fitted attribute or method: ``bias_ = Renamed("intercepts_")``."""

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = getattr(instance, self.new)
        warn_user(
            f"{owner.__name__}.{self.old} is now {self.new}; the old name goes with the next version", FutureWarning
        )
        return value
