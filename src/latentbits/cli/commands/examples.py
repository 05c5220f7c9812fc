"""The commands to begin with: demo, simulate; and completion, by which Tab knows them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits import sentences
from latentbits.cli.terminal import (
    FILE_PATH,
    FOLDER_FORCE,
    Terminal,
    check_target,
    force_option,
    output_table,
    table_options,
    terminal_options,
    warnings_as_notes,
)
from latentbits.storage.output_folder import OutputFolder
from latentbits.storage.run_folder import REPORT_FILE, RunFolder
from latentbits.wording import counted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from latentbits.data.binary_data import BinaryData
    from latentbits.findings.account import Findings
    from latentbits.models.aspect.aspect_model import AspectModel
    from latentbits.simulate.zero_one_tables import AspectTruth

N_COMPONENTS, N_RESTARTS, CORROSION = 10, 8, 0.8
_MEASURES = {"noise_removal_rate": "noise removal rate", "auc": "finding lost pixels (AUC)"}


@click.command(short_help="Noise that is known, found and removed.", epilog="Example: latentbits demo --out my-demo")
@click.option("--out", type=FILE_PATH, metavar="DIR", default=Path("latentbits-demo"), show_default=True)
@force_option(FOLDER_FORCE)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same answer.")
@terminal_options
def demo(out: Path, force: bool, seed: int, terminal: Terminal) -> None:
    """Corrode pictures of digits, then find and undo the damage; under a minute.

    DIR gets what "latentbits fit" leaves, a report among it, and the pictures as tables: noisy.csv and clean.csv.
    """
    RunFolder(out).check(force=force)

    from latentbits import datasets, simulate
    from latentbits.data.binary_data import BinaryData
    from latentbits.findings.account import Provenance
    from latentbits.findings.analyse import analyse
    from latentbits.models.registry import model_class

    digits = datasets.load_digits()
    noisy = simulate.corrode(digits.X, CORROSION, random_state=seed)
    data = BinaryData.of(noisy.X, column_names=digits.feature_names)
    terminal.print(f"Took {len(digits.X):,} handwritten digits of 8 x 8 pixels.")
    terminal.print(_damage(noisy.changed, digits.X))
    terminal.print(f"Fitting {N_COMPONENTS} components to what is left, from {N_RESTARTS} random starts ...")
    parameters: dict[str, Any] = {"n_components": N_COMPONENTS, "n_init": N_RESTARTS, "random_state": seed}
    with warnings_as_notes() as warned:
        findings = analyse(
            model_class("aspect-bernoulli")(**parameters, n_jobs=-1),
            data,
            shape=digits.image_shape,
            provenance=Provenance(warnings=tuple(warned)),
            n_jobs=-1,
            verbose=int(terminal.shows_progress),
        )
    findings = _with_truth(findings, noisy.X, digits.X)
    terminal.print_json(RunFolder(out).save(findings, force=force, report=True))
    terminal.print_lines(_lines(findings, out))


def _with_truth(findings: Findings, noisy: np.ndarray, clean: np.ndarray) -> Findings:
    """The findings, with the undamaged pictures beside them."""
    from latentbits import plots
    from latentbits.findings.account import Fact, data_table

    model, data = findings.subject.model, findings.subject.data
    denoised = model.denoise(data, threshold=0.5)  # anew from the content: here the noise is known to be there
    draw = partial(plots.plot_denoising, data, denoised, clean=clean, shape=findings.shape)
    return replace(
        findings,
        figures=tuple(
            figure._replace(draw=draw) if figure.key == "denoising" else figure for figure in findings.figures
        ),
        tables={**findings.tables, "noisy": data_table(noisy, data), "clean": data_table(clean, data)},
        facts={**findings.facts, "demo": Fact(measures(model, data, denoised, clean))},
    )


def _damage(changed: np.ndarray, clean: np.ndarray) -> str:
    lost = changed.sum()
    of_all = f"{lost / clean.sum():.0%} of all, up to {CORROSION:.0%} of a picture's"
    return f"Turned {lost:,} of their {clean.sum():,} black pixels white: {of_all}."


def measures(model: AspectModel, data: BinaryData, denoised: np.ndarray, clean: np.ndarray) -> dict[str, Any]:
    """How well the damage was found and undone, against the reconstruction that knows of no phantom."""
    from latentbits import metrics

    noisy, plain = data.dense(), model.reconstruct(data)
    return {
        "noise_removal_rate": {
            "plain_reconstruction": metrics.noise_removal_rate(clean, noisy, plain >= 0.5),
            "denoised": metrics.noise_removal_rate(clean, noisy, denoised),
        },
        "auc": {
            "plain_reconstruction": metrics.denoising_auc(clean, noisy, plain),
            "suspects": metrics.denoising_auc(clean, noisy, model.suspicion(data)),
        },
    }


def _lines(findings: Findings, out: Path) -> Iterator[str]:
    white = [part for part in findings.facts["components"].value if part["kind"] == "white"]
    if findings.verdict is not None:
        yield sentences.headline(findings)
    yield sentences.damage_found([part["component"] for part in white], sum(part["share"] for part in white))
    if white:
        yield "Removed it, and drew every picture anew from the components with content."
    yield "Against the undamaged pictures, which the model never saw, with the noise component and without it:"
    for what, values in findings.facts["demo"].value.items():
        before, after = values.values()
        yield f"    {_MEASURES[what]:27}{before:.3f} -> {after:.3f}"
    yield "(0.5 is what doing nothing, or guessing, gets; 1 is perfect.)"
    yield f"Look at {out}: plots/denoising.png shows pictures before and after."
    yield f"Go on with: latentbits suspects {out} {out}/noisy.csv --top 10"
    yield f"Open {out / REPORT_FILE}."


SHARPNESS = 0.2
"""Most attributes of a component are nearly always or nearly never there: causes that can be told apart."""


@click.command(
    short_help="A 0-1 table with known causes, to try things on.",
    epilog="Example: latentbits simulate --rows 100 --columns 40 --out sites.csv --truth truth",
)
@click.option("--rows", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--columns", type=click.IntRange(min=1), default=40, show_default=True)
@click.option("--components", type=click.IntRange(min=1), default=4, show_default=True, help="Phantom included.")
@click.option(
    "--white-phantom/--no-white-phantom",
    default=True,
    help="Whether the last component makes false zeros only.  [default: white-phantom]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same table.")
@click.option("--truth", type=FILE_PATH, metavar="DIR", help="A folder to make, with what made the cells.")
@table_options
@terminal_options
def simulate(
    rows: int,
    columns: int,
    components: int,
    white_phantom: bool,
    seed: int,
    truth: Path | None,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Draw a table of 0 and 1: each cell is made by one of its row's components.

    The truth is written as components.csv (the chance of a 1 in each column), weights.csv (each row's components)
    and causes.csv (the component that made each cell).
    """
    if white_phantom and components < 2:
        raise click.UsageError("a phantom alone makes zeros only; use --components 2 or more, or --no-white-phantom")
    if out is not None:
        check_target(out, force=force)
    if truth is not None:
        OutputFolder(truth).check(force=force)

    from latentbits.simulate.zero_one_tables import aspect_bernoulli

    made = aspect_bernoulli(
        rows, columns, components, white_phantom=white_phantom, sharpness=SHARPNESS, random_state=seed
    )
    table, tables = _tables(made)
    if truth is not None:
        OutputFolder(truth).save_tables(tables, {}, force=force)
    kinds = f"{counted(components, 'component')}{', the last a white phantom' * white_phantom}"
    size = f": {counted(rows, 'row')} x {counted(columns, 'column')} of {kinds}"
    output_table(table, out, force=force, terminal=terminal, details=size)
    if out is not None:
        terminal.print(f"Go on with: latentbits fit {out} --components 2:{components + 2} --out run")


def _tables(made: AspectTruth) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """The table, and the tables of what made it, with names for rows and columns."""
    import pandas as pd

    n_rows, n_columns = made.X.shape
    sites = [f"site{i}" for i in range(n_rows)]
    species = [f"species{j}" for j in range(n_columns)]
    kinds = [f"component_{k + 1}" for k in range(len(made.components))]

    def labelled(values: Any, columns: list[str]) -> pd.DataFrame:
        table = pd.DataFrame(values, columns=columns)
        table.insert(0, "site", sites)
        return table

    components = pd.DataFrame(made.components, columns=species)
    components.insert(0, "component", range(1, len(kinds) + 1))
    return labelled(made.X, species), {
        "components": components,
        "weights": labelled(made.weights, kinds),
        "causes": labelled(made.causes, species),
    }


VARIABLE = "_LATENTBITS_COMPLETE"
"""By this variable, which click derives from the program's name, a shell asks for completions."""


@click.command(
    short_help="Let Tab complete commands and options in your shell.",
    epilog='Example: latentbits completion bash >> ~/.bashrc (or: eval "$(latentbits completion bash)")',
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that teaches SHELL the completions of latentbits.

    \b
        bash    latentbits completion bash >> ~/.bashrc
        zsh     latentbits completion zsh >> ~/.zshrc
        fish    latentbits completion fish > ~/.config/fish/completions/latentbits.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three"
    program = click.get_current_context().find_root().command
    click.echo(kind(program, {}, "latentbits", VARIABLE).source())
