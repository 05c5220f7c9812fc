"""What was decided about noise components, and why."""

from __future__ import annotations

from typing import Any

import pandas as pd

from latentbits.models.aspect.aspect_model import AspectModel
from latentbits.models.aspect.noise_components import BLACK, WHITE, gain_of

__all__ = ["noise_summary"]


def noise_summary(model: AspectModel) -> dict[str, Any]:
    """The decision as a sentence and, if there was a choice, the models that were tried."""
    trials = model.noise_trials_
    if trials is None:
        return {"decision": _asked_for(model.noise)}
    return {"decision": _decided(trials), "trials": trials.to_dict(orient="records")}


def _asked_for(noise: str | None) -> str:
    what = "Both noise components were" if noise == "both" else f"The {noise} noise component was"
    return f"{what} asked for; whether the data need {'them' if noise == 'both' else 'it'} was not tried (auto does)."


def _decided(trials: pd.DataFrame) -> str:
    """Each noise component with its gain beside the one that is kept, if any."""
    (kept,) = trials["model"][trials["kept"]]
    parts = []
    needed = dict(zip(trials["model"], trials["needed"], strict=True))
    for kind in (WHITE, BLACK):
        gain = gain_of(kind, trials)
        if gain is None:
            parts.append(f"a {kind} noise component was not tried, as the fit was interrupted")
            continue
        is_kept = kept in (kind, "both")
        what = f"{'a' if is_kept else 'no'} {kind} noise component is kept: it {'gains' if is_kept else 'would gain'}"
        parts.append(f"{what} {gain:.2f} nats a row, and {needed[kind]:.2f} are needed")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."
