"""The options of fitting, read off the models' records, and what they mean to each model."""

from __future__ import annotations

import math
from typing import Any

import click

from latentbits.cli.options.click_helpers import Values, flag_of, given
from latentbits.cli.options.criteria import FOLDS
from latentbits.cli.options.value_types import FloatRange, Numbers, RangeOrNone, Words
from latentbits.constraints import Choice, Number
from latentbits.models.registry import MODELS
from latentbits.models.spec import Parameter

__all__ = ["LEARNING", "parameters_of"]


def not_zero(ctx: click.Context, option: click.Parameter, value: int) -> int:
    """Refuse 0 jobs, which mean nothing; negative numbers count from all cores."""
    if value == 0:
        raise click.BadParameter("use 1 or more, or -1 for all cores", ctx, option)
    return value


def finite(ctx: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse infinity and NaN, which click's ranges let pass."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("this is not a finite number", ctx, option)
    return value


def none_as_python(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The word "none" as None, which is what a model takes."""
    return None if value == "none" else value


_OWN_SETTINGS: dict[str, Values] = {
    "components": {
        "type": Numbers(),
        "metavar": "NUMBER|RANGE",
        "help": "How many, phantoms included but for those of --noise; of binary-factors at most. The best of a range "
        "2:8 or a list 2,4,8 is chosen.  "
        f"[required but for {', '.join(name for name, spec in MODELS.items() if not spec.needs_components)}]",
    },
    "restarts": {"default": 10, "show_default": True},
    "seed": {"type": click.IntRange(min=0), "default": 0, "show_default": True},
    "folds": {
        "type": RangeOrNone(min=2),
        "callback": none_as_python,
        "metavar": "NUMBER|none",
        "help": "Parts of held-out rows and cells, where a number of components is chosen; of false-zeros, parts of "
        f"the cells that are hidden in turn to weight the members (none: all count alike, and there is no verdict).  "
        f"[default: {FOLDS}; of false-zeros 5]",
    },
    "members": {"type": Words(), "metavar": "LIST"},
    "checkpoint": {"type": click.Path(file_okay=False), "metavar": "DIR"},
    "jobs": {"type": int, "default": -1, "callback": not_zero, "show_default": True},
}
"""Settings that the command line chooses by itself; the others follow from what the parameter may be."""

_DEFAULTS_OF_MODELS = ("max_iter", "tol")
"""Options that every model has, with a default of its own."""


def _collected() -> dict[str, dict[str, Parameter]]:
    """Every option's parameter in each model that has it, by option and model, common options first."""
    found: dict[str, dict[str, Parameter]] = {}
    for model, spec in MODELS.items():
        for parameter in spec.parameters.values():
            if parameter.option is not None:
                found.setdefault(parameter.option.name, {})[model] = parameter
    return found


def _settings(name: str, by_model: dict[str, Parameter]) -> Values:
    """Click's settings of an option: the type from what is allowed, the help from every model."""
    allowed = [parameter.allowed for parameter in by_model.values()]
    settings: Values = {"help": _help(name, by_model)}
    if all(isinstance(one, Choice) for one in allowed):
        words = dict.fromkeys(word for one in allowed if isinstance(one, Choice) for word in one.values)
        settings["type"] = click.Choice(list(words))
        if any(isinstance(one, Choice) and one.optional for one in allowed):
            settings |= {"type": click.Choice(["none", *words]), "callback": none_as_python}
    else:
        settings |= _range(next(one for one in allowed if isinstance(one, Number))) if allowed[0] else {}
    return settings | _OWN_SETTINGS.get(name, {})


def _range(allowed: Number) -> Values:
    ends: Values = {"min_open": allowed.above, "max_open": True}
    kind = int if allowed.integer else float
    if not math.isinf(allowed.least):
        ends["min"] = kind(allowed.least)
    if not math.isinf(allowed.below):
        ends["max"] = kind(allowed.below)
    return {"type": click.IntRange(**ends)} if allowed.integer else {"type": FloatRange(**ends), "callback": finite}


def _help(name: str, by_model: dict[str, Parameter]) -> str:
    """What the option means; of options that only some models have, to which."""
    meanings: dict[str, list[str]] = {}
    for model, parameter in by_model.items():
        assert parameter.option is not None
        meanings.setdefault(parameter.option.help, []).append(model)
    if name in (*_OWN_SETTINGS, *_DEFAULTS_OF_MODELS) and name not in ("members", "checkpoint"):
        (text,) = list(meanings)[:1]
        default = "  [default: the model's own]" if name in _DEFAULTS_OF_MODELS else ""
        return f"{text[0].upper()}{text[1:]}.{default}"
    return "; ".join(f"{', '.join(models)}: {text}" for text, models in meanings.items()) + "."


LEARNING: dict[str, Values] = {name: _settings(name, by_model) for name, by_model in _collected().items()}
"""The options of fitting, for `bundled`."""


def parameters_of(learning: Values, model: str, *, known_only: bool = False) -> Values:
    """The options of fitting as a model's parameters; what wasn't given is left to the model.

    An option that the model doesn't have is an error if the user has given it, or is left out if `known_only`.
    """
    spec = MODELS[model]
    known = {parameter.option.name: name for name, parameter in spec.parameters.items() if parameter.option}
    if spec.needs_components and learning.get("components", 1) is None:
        raise click.UsageError("Missing option '--components'.")
    parameters: Values = {}
    for key, value in learning.items():
        if value is None and not (key in known and _is_none_by_word(key)):
            continue
        if key in known:
            parameters[known[key]] = value
        elif not known_only and given(key):
            raise click.UsageError(
                f"{flag_of(key)} is not an option of {model}; leave it out, or choose another --model"
            )
    _check(parameters, model)
    return parameters


def _is_none_by_word(key: str) -> bool:
    """Whether the user has written "none", which a model may need to be told, as its default may be something else."""
    return LEARNING.get(key, {}).get("callback") is none_as_python and given(key)


def _check(parameters: dict[str, Any], model: str) -> None:
    """Refuse what one model takes and this one doesn't, such as its words for --inference."""
    try:
        MODELS[model].check(parameters)
    except ValueError as error:
        raise click.UsageError(f"{model}: {error}") from None
