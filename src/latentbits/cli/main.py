"""The program `latentbits`: its commands, and what becomes of errors."""

from __future__ import annotations

from typing import Any

import click

from latentbits.cli import terminal
from latentbits.cli.commands.ask import denoise, explain, export, methods, predict, report, rows, suspects
from latentbits.cli.commands.choose import check, compare, select
from latentbits.cli.commands.examples import completion, demo, simulate
from latentbits.cli.commands.fit import false_zeros, fit
from latentbits.cli.commands.look import look
from latentbits.cli.commands.survey import factors, repeat_visits, tetrachoric
from latentbits.errors import DataError, ModelFileError
from latentbits.version import __version__

REFUSED = (DataError, ModelFileError, OSError)
TOO_LARGE = "the memory is too small for this; give fewer rows or columns, or use a larger machine"


class Program(click.Group):
    """A group whose commands end in one of: 0 done, 1 refused input, 2 wrong usage, 130 interrupted."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a refusal is one line on stderr, warnings are notes there."""
        try:
            with terminal.warnings_as_notes():
                return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has seen enough, which click knows how to end
            raise
        except REFUSED as error:
            terminal.print_error(error)
            ctx.exit(terminal.REFUSED)
        except MemoryError:
            terminal.print_error(TOO_LARGE)
            ctx.exit(terminal.REFUSED)
        except KeyboardInterrupt:
            terminal.print_error("interrupted; nothing was written, and a checkpoint, if there was one, is kept")
            ctx.exit(terminal.INTERRUPTED)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__)
def program() -> None:
    """Find the hidden causes in 0-1 data: which zeros are real absences, which were merely missed, which ones
    are noise.

    Begin with "latentbits demo", or with a table of your own:

    \b
        latentbits false-zeros sites.csv --top 20               # which zeros hide a 1
        latentbits fit sites.csv --out causes                   # anything to find? open causes/report.html
        latentbits fit sites.csv --model beta-ica --out run     # components to rate
        latentbits denoise run sites.csv --ratings ratings.json --out clean.csv
        latentbits suspects run --top 20
        latentbits methods run                                  # a paragraph for the paper

    In tables that are written, a label that begins with = + - @ gets an apostrophe in front, so that no
    spreadsheet takes it for a formula; reading such a table takes it away again.

    Exit codes: 0 done, 1 the input was refused (one sentence on stderr says why), 2 wrong usage, 130 interrupted.
    """


COMMANDS = (
    *(look, fit, false_zeros, repeat_visits, select, compare, check, tetrachoric, factors),
    *(report, denoise, suspects, explain, predict, rows, methods, export),
    *(simulate, demo, completion),
)

for command in COMMANDS:
    program.add_command(command)


def main() -> None:
    """The entry point."""
    program(prog_name="latentbits")
