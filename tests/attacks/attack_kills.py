"""Commands that are killed, interrupted or refused a file: the old result or the new one, whole; a rerun needs nothing.

Each case forks a process that runs a command on files, and ends it at a random moment, or at a random one of the
moments in which it opens, makes, renames or removes a file; or the disk is full, the folder read-only or the working
directory gone. Then the same command runs again, undisturbed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from experiments.runner.command import program as experiments
from latentbits import simulate
from latentbits.cli.main import program
from latentbits.storage import run_folder
from latentbits.storage.run_folder import RunFolder

SMALL = 2
LARGE = 110
SECONDS = 60

Content = dict[str, str] | None

ACCIDENTS = ["kill", "terminate", "interrupt", "interrupt twice", "full disk", "no permission", "no working directory"]
WATCHED = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}
"""The events of Python's audit hooks at which a process may end itself."""

COIN = """
from experiments.runner import Claim, Experiment

def jobs(full):
    return [{"seed": seed} for seed in range(3)]

def run(seed):
    return [{"toss": seed % 2}]

def judge(table):
    return [Claim(result="AB 2", statement="three tosses", paper="3", ours=str(len(table)), holds=len(table) == 3)]

EXPERIMENT = Experiment(title="Coins", results=("AB 2",), jobs=jobs, run=run, judge=judge)
"""


def case(rng: np.random.Generator) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(prepared(), folder, dirs_exist_ok=True, symlinks=True)
        if rng.random() < 0.1:
            rivals(folder)
            return
        command = str(rng.choice(["fit", "denoise", "report", "experiments"], p=[0.5, 0.2, 0.2, 0.1]))
        forced = bool(rng.integers(2))
        arguments, output = line_of(command, folder, forced)
        if command == "experiments" and forced:
            assert run_in_fork(arguments, folder, None, "none")[0] == 0
        if not forced:
            shutil.rmtree(output) if output.is_dir() else output.unlink(missing_ok=True)
        before = content(output)
        accident = str(rng.choice(ACCIDENTS))
        if command == "experiments" and accident == "no working directory":
            accident = "kill"  # they are found in the working directory, or else others are
        said = run_in_fork(arguments, folder, rng, accident)
        after = content(output)
        check_whole(command, output, before, after, said, accident)
        unmade = forced or after is None
        again = run_in_fork(arguments if unmade else line_of(command, folder, True)[0], folder, None, "none")
        assert again[0] == 0, f"after {accident} the command fails: {again}"
        check_whole(command, output, None, content(output), again, "none")


@cache
def prepared() -> Path:
    """A folder with a table, a fit, earlier results and an experiment; made once."""
    folder = Path(tempfile.mkdtemp(prefix="latentbits-attack-"))
    X = simulate.aspect_bernoulli(40, 8, 2, random_state=0).X
    np.savetxt(folder / "sites.csv", X, fmt="%d", delimiter=",", header=",".join("abcdefgh"), comments="")
    (folder / "experiments" / "toys").mkdir(parents=True)
    (folder / "experiments" / "__init__.py").touch()
    (folder / "experiments" / "runner").symlink_to(Path(__file__).parents[2] / "experiments" / "runner")
    (folder / "experiments" / "toys" / "coin.py").write_text(COIN)
    code, text = run_in_fork(line_of("fit", folder, False)[0], folder, None, "none")
    assert code == 0, text
    shutil.copytree(folder / "run", folder / "model")
    (folder / "clean.csv").write_text("an earlier result\n")
    (folder / "page.html").write_text("an earlier result\n")
    return folder


def line_of(command: str, folder: Path, forced: bool) -> tuple[list[str], Path]:
    """The command line, and what it writes."""
    model = folder / ("model" if (folder / "model").exists() else "run")
    table, force = str(folder / "sites.csv"), ["--force"] * forced
    if command == "fit":
        made = folder / "run"
        return [
            "fit",
            table,
            "--components",
            "2",
            "--restarts",
            "2",
            "--jobs",
            "1",
            "--no-verdict",
            "--out",
            str(made),
            *force,
        ], made
    if command == "denoise":
        made = folder / "clean.csv"
        return ["denoise", str(model), table, "--out", str(made), *force], made
    if command == "report":
        made = folder / "page.html"
        return ["report", str(model), "--out", str(made), *force], made
    made = folder / "results"
    return ["run", "toys/coin", "--jobs", "1", "--out", str(made), *["--fresh"] * forced], made


def rivals(folder: Path) -> None:
    """Two fits into the same folder at once: one wins, the other says so; with --force, the last one wins."""
    for forced in (False, True):
        arguments, output = line_of("fit", folder, forced)
        if not forced:
            shutil.rmtree(output)
        words = [folder / "said by one", folder / "said by other"]
        started = [start(arguments, folder, said, "none") for said in words]
        ended = [end_of(child, said) for child, said in zip(started, words, strict=True)]
        codes = sorted(code for code, _ in ended)
        assert codes == ([0, 0] if forced else [0, 1]), ended
        if not forced:
            assert any("exists already" in text or "somebody else" in text for _, text in ended), ended
        check_whole("fit", output, None, content(output), (0, ""), "none")


def run_in_fork(arguments: list[str], folder: Path, rng: np.random.Generator | None, accident: str) -> tuple[int, str]:
    """Run the command in a process of its own, let the accident happen, and return exit code and stderr."""
    words = folder / "said"
    if rng is None:
        return end_of(start(arguments, folder, words, accident), words)
    at_event = int(rng.integers(0, 60)) if rng.random() < 0.6 else None
    seconds = float(rng.random()) * 1.5
    child = start(arguments, folder, words, accident, at_event, int(rng.integers(0, 60_000)))
    if accident in SIGNALS and at_event is None:
        time.sleep(seconds)
        for number in SIGNALS[accident]:
            os.kill(child, number)
            time.sleep(seconds / 5)
    return end_of(child, words)


def start(
    arguments: list[str], folder: Path, words: Path, accident: str, at_event: int | None = None, limit: int = 0
) -> int:
    """Fork; the child runs the command and ends."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            prepare(folder, words, accident, at_event, limit)
            (experiments if arguments[0] == "run" else program)(arguments, prog_name="latentbits")
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    return child


def end_of(child: int, words: Path) -> tuple[int, str]:
    """Wait for a child; its exit code, and what it said."""
    try:
        _, status = os.waitpid(child, 0)
    except BaseException:  # it takes too long
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return os.waitstatus_to_exitcode(status), words.read_text(errors="replace") if words.exists() else ""


SIGNALS: dict[str, list[int]] = {
    "kill": [signal.SIGKILL],
    "terminate": [signal.SIGTERM],
    "interrupt": [signal.SIGINT],
    "interrupt twice": [signal.SIGINT, signal.SIGINT],
}


def prepare(folder: Path, words: Path, accident: str, at_event: int | None, limit: int) -> None:
    """In the child: streams to files, and what the accident needs."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
        os.dup2(os.open(words if number == 2 else os.devnull, flags), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    os.chdir(folder)
    run_folder.write_plots = quick_plots
    if accident in SIGNALS and at_event is not None:
        sys.addaudithook(ending_at(at_event, SIGNALS[accident], str(folder)))
    elif accident == "full disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    elif accident == "no permission":
        os.setuid(65534) if os.geteuid() == 0 else folder.chmod(0o500)
    elif accident == "no working directory":
        gone = Path(tempfile.mkdtemp())
        os.chdir(gone)
        gone.rmdir()


def quick_plots(figures: Mapping[str, object], folder: Path, formats: Sequence[str] = ("png",)) -> None:
    """As many files, but nothing drawn, which would take longer than all the rest."""
    folder.mkdir()
    for name in figures:
        (folder / f"{name}.png").write_bytes(bytes(5000))


def ending_at(count: int, signals: list[int], folder: str) -> Callable[[str, tuple[object, ...]], None]:
    """An audit hook that sends the signals at the event of this number under the folder."""
    left = [count]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in WATCHED and arguments and folder in str(arguments[0]):
            left[0] -= 1
            if left[0] == -1:
                for number in signals:
                    os.kill(os.getpid(), number)

    return hook


def content(output: Path) -> Content:
    """All files that are no drafts, by their digests; None if there is nothing."""
    if not output.exists():
        return None
    files = [output] if output.is_file() else [file for file in sorted(output.rglob("*")) if file.is_file()]
    kept = [file for file in files if not file.name.startswith(".") and "cache" not in file.parts]
    return {str(file.relative_to(output.parent)): hashlib.sha256(file.read_bytes()).hexdigest() for file in kept}


def check_whole(
    command: str, output: Path, before: Content, after: Content, said: tuple[int, str], accident: str
) -> None:
    """What was there before is there still, or a complete new result is."""
    code, text = said
    assert "Traceback" not in text, text[-3000:]
    assert code in (0, 1, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT), said
    if code in (1, 130) and accident != "interrupt twice":  # the second may come while the sentence is printed
        best_so_far = "note: interrupted: " if command == "fit" and code == 130 else "error: "
        assert any(line.startswith(("error: ", best_so_far)) for line in text.splitlines()), said
    if code == 0:
        assert after is not None, text
    if after == before or (command == "experiments" and code != 0):
        if command == "experiments":
            check_experiment(output)
        return
    assert after is not None, "the old result is gone"
    if command == "fit":
        run = RunFolder.open(output)
        assert {name.partition("/")[0] for name in run.files} == {file.name for file in output.iterdir()}
        run.load_model()
        run.load_data()
        assert run.report_file.read_text().rstrip().endswith("</html>")
    elif command == "report":
        assert output.read_text().rstrip().endswith("</html>")
    elif command == "denoise":
        assert len(output.read_text().splitlines()) == 41


def check_experiment(output: Path) -> None:
    """Results are stored whole; some may not be there yet."""
    import json

    for file in output.glob("quick/*.json"):
        assert json.loads(file.read_text())["experiment"] == "toys/coin"
    for file in output.glob("quick/*.csv"):
        assert len(file.read_text().splitlines()) == 4
