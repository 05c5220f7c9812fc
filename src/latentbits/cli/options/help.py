"""Help of commands with more options than a screen has lines: those that matter most, then the others by name."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import click

from latentbits.cli.options.click_helpers import Command
from latentbits.cli.options.learning import BY_OPTION
from latentbits.cli.options.reading import READING
from latentbits.models.registry import MODELS

OF_MANY = 10
"""An option that so many models have isn't listed with each of them."""

_MODEL, _ALL = "latentbits.help.model", "latentbits.help.all"
_ABOUT_FITTING = ("criterion", "folds", "segments", "cluster", "marks")
_READING, _FITTING, _OUTPUT = "Reading FILE", "Fitting", "Output"


def model_option(choice: click.Choice[str]) -> Callable[[Command], Command]:
    """Give a command --model, whose names are too many to stand beside the flag."""
    text = f"{', '.join(choice.choices)}."
    return click.option(
        "--model", type=choice, metavar="NAME", default="aspect-bernoulli", show_default=True, help=text
    )


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
