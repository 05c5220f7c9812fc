"""The options of fitting, read off the models' records, and those of choosing a number of components or a model.

`GroupedHelp` shows of the many options those that matter most, then the others by name.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import click
from click.shell_completion import CompletionItem

from latentbits.cli.options.reading import READING
from latentbits.cli.terminal import Command, FloatRange, Values, flag_of, given
from latentbits.constraints import Choice, Number
from latentbits.models.registry import MODELS, TABLE_MODELS
from latentbits.models.spec import Parameter

# ---- what may be written behind an option ------------------------------------------------------------------


class Numbers(click.ParamType):
    """Whole numbers: one, a list with commas (2,4,8), or a range with both ends (2:8)."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """The numbers in order, each once."""
        if isinstance(value, list):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            first, colon, last = part.partition(":")
            if not first.isdecimal() or (colon and not last.isdecimal()):
                self.fail(f'"{part}" is no number of components; give one such as 4, a list 2,4,8 or a range 2:8')
            found |= set(range(int(first), int(last if colon else first) + 1))
        if not found:
            self.fail(f'"{value}" ends before it begins; give the smaller number first, such as 2:8')
        if min(found) < 1:
            self.fail(f'"{value}" begins below 1; give one such as 4, a list 2,4,8 or a range 2:8')
        return sorted(found)


class Names(click.ParamType):
    """Words with commas between them, each of them known."""

    name = "names"

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """The words."""
        words = value if isinstance(value, list) else [word.strip() for word in str(value).split(",")]
        for word in words:
            if word not in self.known:
                self.fail(f'"{word}" is unknown; use any of {", ".join(self.known)}, with commas between them')
        return words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The known words that the last one may become."""
        return _continued(incomplete, self.known)


class RangeOrNone(click.IntRange):
    """A whole number, or the word "none"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the word."""
        return value if value == "none" else super().convert(value, param, ctx)


class Words(click.ParamType):
    """Words with commas between them; who takes them knows which there are."""

    name = "words"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """The words."""
        return value if isinstance(value, list) else [word.strip() for word in str(value).split(",")]


class ModelNames(click.ParamType):
    """Models with commas between them, each with a number of components behind a colon or without."""

    name = "models"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[tuple[str, int | None]]:
        """Pairs of the name and the number, if any."""
        if isinstance(value, list):
            return value
        pairs: list[tuple[str, int | None]] = []
        for word in str(value).split(","):
            name, colon, number = word.strip().partition(":")
            if name not in TABLE_MODELS:
                self.fail(f'there is no model "{name}" for 0-1 tables; use any of {", ".join(TABLE_MODELS)}')
            if colon and (not number.isdecimal() or int(number) < 1):
                self.fail(f'"{word}": give a number of components behind the colon, such as {name}:5')
            if colon and not MODELS[name].has_components:
                self.fail(f'"{word}": {name} has no number of components; leave it out')
            pairs.append((name, int(number) if colon else None))
        return pairs

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The models that the last word may become."""
        return _continued(incomplete, TABLE_MODELS)


class ModelWithNumber(click.Choice):
    """A model whose number of components can be chosen."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; of models without such a number the reason why not."""
        if value in MODELS and not MODELS[value].orders:
            self.fail(f"{value} has no number of components to choose; fit it, or use latentbits compare", param, ctx)
        return super().convert(value, param, ctx)


def _continued(incomplete: str, known: tuple[str, ...]) -> list[CompletionItem]:
    *before, last = incomplete.split(",")
    return [CompletionItem(",".join([*before, word])) for word in known if word.startswith(last)]


# ---- choosing on held-out rows and cells -------------------------------------------------------------------

FOLDS = 10
CRITERIA = ("cells", "aic")
"""The criteria of choosing a number: the first chooses, as in `select_order`."""


def criterion_option(command: Command) -> Command:
    """Give a command the criteria of choosing a number."""
    return click.option(
        "--criterion",
        type=Names(("aic", "bic", "evidence", "cv", "cells", "pairs")),
        metavar="LIST",
        help="aic, bic, evidence (beta-ica, ica-mixture), cv (held-out rows), cells (held-out cells), pairs "
        "(binary-ica); the first one chooses.  "
        f"[default: {','.join(CRITERIA)}; for nmf and fast-ica cells, for binary-ica pairs, for binary-factors bic,cv, "
        "for ica-mixture evidence,cv]",
    )(command)


def folds_option(command: Command) -> Command:
    """Give a command the number of folds."""
    return click.option(
        "--folds", type=click.IntRange(min=2), default=FOLDS, show_default=True, help="Of held-out rows and cells."
    )(command)


# ---- fitting -----------------------------------------------------------------------------------------------


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
        "help": "How many, noise components included but for those of --noise; of binary-factors at most. The best of "
        "a range 2:8 or a list 2,4,8 is chosen.",
    },
    "restarts": {"default": 10, "show_default": True},
    "seed": {"type": click.IntRange(min=0), "default": 0, "show_default": True},
    "folds": {
        "type": RangeOrNone(min=2),
        "callback": none_as_python,
        "metavar": "NUMBER|none",
        "help": "Parts of held-out rows and cells, where a number of components is chosen; of false-zeros, parts of "
        f"the cells that are held out in turn to weight the members (none: equal weights, and no verdict).  "
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


BY_OPTION = _collected()
LEARNING: dict[str, Values] = {name: _settings(name, by_model) for name, by_model in BY_OPTION.items()}
"""The options of fitting, for `bundled`."""


def parameters_of(learning: Values, model: str, *, known_only: bool = False) -> Values:
    """The options of fitting as a model's parameters; what wasn't given is left to the model.

    An option that the model doesn't have is an error if the user has given it, or is left out if `known_only`.
    """
    spec = MODELS[model]
    known = {parameter.option.name: name for name, parameter in spec.parameters.items() if parameter.option}
    if spec.needs_components and learning.get("components", 1) is None:
        of_what = "factors at most" if model == "binary-factors" else "components"
        raise click.UsageError(f"Missing option '--components': how many {of_what}, such as --components 6.")
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
    """Whether the user has written "none", which a model may have to be given, as its default may be something else."""
    return LEARNING.get(key, {}).get("callback") is none_as_python and given(key)


def _check(parameters: dict[str, Any], model: str) -> None:
    """Refuse what one model takes and this one doesn't, such as its words for --inference."""
    try:
        MODELS[model].check(parameters)
    except ValueError as error:
        raise click.UsageError(f"{model}: {error}") from None


OF_MANY = 10
"""An option that so many models have isn't listed with each of them."""

_MODEL, _ALL = "latentbits.help.model", "latentbits.help.all"
_ABOUT_FITTING = ("criterion", "folds", "segments", "cluster", "marks")
_READING, _FITTING, _OUTPUT = "Reading FILE", "Fitting", "Output"


def model_option(choice: click.Choice[str], default: str | None) -> Callable[[Command], Command]:
    """Give a command --model, whose names are too many to stand beside the flag; None if it chooses by itself."""
    shown: Any = True if default is not None else "chosen by held-out cells"
    text = f"{', '.join(choice.choices)}."
    return click.option("--model", type=choice, metavar="NAME", default=default, show_default=shown, help=text)


def _show_all(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


class GroupedHelp(click.Command):
    """A command whose --help explains its `first` options, and those of the --model that is given with it.

    The others are listed by name, grouped by purpose and by model; --help-all explains everything.
    """

    def __init__(self, *args: Any, first: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*args, **settings)
        text = "Explain all options, and exit."
        flags: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _show_all}
        self.params.append(click.Option(["--help-all"], help=text, **flags))
        self.first = (*first, "help_all")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the model, which may also be given behind --help."""
        words = " ".join(args).replace("=", " ").split()
        named = {model for flag, model in pairwise(words) if flag == "--model"}
        ctx.meta[_MODEL] = next(iter(named & MODELS.keys()), None)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first paragraph, or all of the text."""
        if ctx.meta.get(_ALL):
            super().format_help_text(ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(inspect.cleandoc(self.help or "").partition("\n\n")[0])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups."""
        by_name = {str(option.name): option for option in self.params if isinstance(option, click.Option)}
        model, groups = ctx.meta.get(_MODEL), self._groups(by_name)
        first = [by_name[name] for name in self.first]
        elsewhere = {*self.first, *groups[_FITTING]}
        _explain("Options", [*first, *filter(None, [self.get_help_option(ctx)])], ctx, formatter)
        if ctx.meta.get(_ALL):
            for title, names in groups.items():
                _explain(title, (by_name[name] for name in names), ctx, formatter)
            own = [name for name in BY_OPTION if name in by_name and name not in elsewhere]
            _explain("Single models", (by_name[name] for name in own), ctx, formatter)
            return
        if model is not None:
            _explain(f"Options of {model}", _of_model(model, by_name, elsewhere), ctx, formatter)
        with formatter.section("More options (--help-all explains them)"):
            formatter.write_dl([(title, _flags(by_name[name] for name in names)) for title, names in groups.items()])
        if model is None:
            models = getattr(by_name["model"].type, "choices", ())
            listed = {name: _flags(_of_model(name, by_name, elsewhere)) for name in models}
            with formatter.section(f"Options of single models ({ctx.command_path} --model NAME --help explains them)"):
                formatter.write_dl([(name, flags) for name, flags in listed.items() if flags])

    def _groups(self, by_name: dict[str, click.Option]) -> dict[str, list[str]]:
        """The options that aren't first, nor of single models, by what they are about."""
        groups: dict[str, list[str]] = {_READING: [], _FITTING: [], _OUTPUT: []}
        for name in by_name.keys() - {*self.first}:
            if name in READING:
                groups[_READING].append(name)
            elif name in _ABOUT_FITTING or len(BY_OPTION.get(name, ())) >= OF_MANY:
                groups[_FITTING].append(name)
            elif name not in BY_OPTION:
                groups[_OUTPUT].append(name)
        order = list(by_name)
        return {title: sorted(names, key=order.index) for title, names in groups.items()}


def _of_model(model: str, by_name: dict[str, click.Option], without: set[str]) -> Iterator[click.Option]:
    """The options of one model, each with what it means there."""
    for name, by_model in BY_OPTION.items():
        if name in by_name and name not in without and model in by_model:
            option = copy.copy(by_name[name])
            meaning = by_model[model].option
            if meaning is not None and len(by_model) < OF_MANY and name != "folds":
                option.help = f"{meaning.help[0].upper()}{meaning.help[1:]}."
            yield option


def _flags(options: Iterable[click.Option]) -> str:
    return ", ".join("/".join((*option.opts, *option.secondary_opts)) for option in options)


def _explain(title: str, options: Iterable[click.Option], ctx: click.Context, formatter: click.HelpFormatter) -> None:
    records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
    if records:
        with formatter.section(title):
            formatter.write_dl(records)
