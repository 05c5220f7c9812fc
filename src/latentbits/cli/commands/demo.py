"""`latentbits demo`: noise that is known, found and removed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.fit_run import Stopwatch, add_verdict, fit_and_gather, save_run, show_as_images
from latentbits.cli.options.click_helpers import FILE_PATH
from latentbits.cli.options.output import FOLDER_FORCE, force_option, terminal_options
from latentbits.cli.terminal import Terminal, warnings_as_notes
from latentbits.findings.results import data_table
from latentbits.storage.run_folder import REPORT_FILE, RunFolder

if TYPE_CHECKING:
    import numpy as np

    from latentbits.data.binary_data import BinaryData
    from latentbits.findings.results import Results
    from latentbits.models.aspect.base import AspectModel

__all__ = ["demo"]

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

    from latentbits import datasets, plots, simulate
    from latentbits.data.binary_data import BinaryData

    digits = datasets.load_digits()
    noisy = simulate.corrode(digits.X, CORROSION, random_state=seed)
    data = BinaryData.of(noisy.X, column_names=digits.feature_names)
    terminal.print(f"Took {len(digits.X):,} handwritten digits of 8 x 8 pixels.")
    terminal.print(_damage(noisy.changed, digits.X))
    terminal.print(f"Fitting {N_COMPONENTS} components to what is left, from {N_RESTARTS} random starts ...")
    watch = Stopwatch()
    parameters = {"n_components": N_COMPONENTS, "n_init": N_RESTARTS, "random_state": seed, "n_jobs": -1}
    with warnings_as_notes() as notes:
        results = fit_and_gather("aspect-bernoulli", parameters, data, watch, progress=terminal.shows_progress)
        terminal.print("Hiding cells, to see whether the components predict them ...")
        add_verdict(results, None, watch, n_jobs=-1, progress=terminal.shows_progress)
    denoised = results.model.denoise(data)
    results.figures["denoising"] = partial(plots.plot_denoising, data, denoised, clean=digits.X)
    show_as_images(results, digits.image_shape)
    results.tables |= {"noisy": data_table(noisy.X, data), "clean": data_table(digits.X, data)}
    results.summary["demo"] = measures(results.model, data, denoised, digits.X)
    save_run(results, out, force=force, notes=notes, watch=watch, report=True)
    terminal.print_json(results.summary)
    for line in _lines(results, out):
        terminal.print(line)


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


def _lines(results: Results, out: Path) -> Iterator[str]:
    white = [part for part in results.summary["components"] if part["kind"] == "white"]
    if verdict := results.summary.get("verdict"):
        yield verdict["sentences"][0]
    named = " and ".join(str(part["component"]) for part in white)
    share = sum(part["share"] for part in white)
    if white:
        yield f"Found the damage: component {named} is a white phantom, blank, with {share:.0%} of the data."
        yield "Removed it, and drew every picture anew from the components with content."
    else:
        yield "No component came out as a white phantom, so nothing was removed; try another --seed."
    yield "Against the undamaged pictures, which the model never saw, with the phantom and without it:"
    for what, values in results.summary["demo"].items():
        before, after = values.values()
        yield f"    {_MEASURES[what]:27}{before:.3f} -> {after:.3f}"
    yield "(0.5 is what doing nothing, or guessing, gets; 1 is perfect.)"
    yield f"Look at {out}: plots/denoising.png shows pictures before and after."
    yield f"Go on with: latentbits suspects {out} {out}/noisy.csv --top 10"
    yield f"Open {out / REPORT_FILE}."
