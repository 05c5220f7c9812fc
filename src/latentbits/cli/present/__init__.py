"""What is written and told about a fitted model: a file a family, the common parts in results.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentbits.cli.present.results import Results
    from latentbits.data.binary_data import BinaryData

__all__ = ["gather"]


def gather(model: Any, data: BinaryData) -> Results:
    """Everything that goes into the folder of a fit, by the model's family."""
    from latentbits.cli.present import aspect, factors
    from latentbits.models.aspect.base import AspectModel

    return aspect.gather(model, data) if isinstance(model, AspectModel) else factors.gather(model, data)
