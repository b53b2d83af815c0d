"""`equipoise bench`: the papers' experiments on public tables. Not private: they compare with the truth."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.console import Json, Quiet, Speaker, table_of
from equipoise.errors import DataError, SettingError

if TYPE_CHECKING:
    from equipoise.bench.series import Series

__all__ = ["EXAMPLES", "app"]

EXAMPLES = ("equipoise bench list", "equipoise bench run s001-fig1 --quick --data tables/")

app = typer.Typer(
    no_args_is_help=True,
    help="The papers' experiments on public tables, declared, resumable, with a page each. NOT PRIVATE: it compares"
    " with the truth.",
)

SERIES = {"s000": "equipoise.bench.fem", "s002": "equipoise.bench.dual_query", "growth": "equipoise.bench.growth"}
"""Experiments whose cases are more than a declared file says: modules with a `SERIES`."""

TABLES = {"s003": ("equipoise.bench.learning", ("--quick",)), "s004": ("equipoise.bench.analysts", ())}
"""Experiments that give a table and no figure: modules with a `main`, and what it is told for a quick run."""

PEERS_ON = ("adult_reduced", "adult", "loans", "acs_national", "adult_star", "kdd99", "loans_wide")
"""Tables of the comparison with other packages."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="An experiment; `equipoise bench list` shows them.")]
Data = Annotated[Path, typer.Option("--data", metavar="FOLDER", help="The folder of tables and workloads.")]
Out = Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Where results are kept, a folder each.")]


@app.command("list")
def list_experiments(json: Json = False, quiet: Quiet = False) -> None:
    """List the experiments."""
    from equipoise.bench.experiment import load, names

    found = [load(name) for name in names()]
    body = [{"name": each.name, "title": each.title, "paper": each.paper, "figure": each.figure} for each in found]
    rows = [
        (
            each.name,
            each.title,
            each.paper or "",
            each.figure,
            f"{sum(map(len, each.figures().values())) * each.runs:,}",
            f"{sum(map(len, each.figures(quick=True).values())) * each.quick.runs:,}",
        )
        for each in found
    ]
    for name in SERIES:
        series = _series(name)
        title = series.about.splitlines()[0]
        body.append({"name": name, "title": title, "paper": None, "figure": ""})
        rows.append(
            (name, title, "", "", f"{series.runs * len(series.cases):,}", f"{sum(c.quick for c in series.cases):,}")
        )
    for name, (module, _) in TABLES.items():
        title = str(import_module(module).__doc__).splitlines()[0]
        body.append({"name": name, "title": title, "paper": None, "figure": ""})
        rows.append((name, title, "", "table", "", ""))
    table = table_of(("name", "what", "paper", "figure", "runs", "quick"), rows, right=(4, 5))
    Speaker(json=json, quiet=quiet).result({"experiments": body}, [table])


def _series(name: str) -> Series[Any]:
    found: Series[Any] = import_module(SERIES[name]).SERIES
    return found


def _write_table(name: str, data: Path, folder: Path, *, quick: bool) -> Path:
    from equipoise.bench.table_page import publish

    if not (data / "adult.parquet").is_file():
        raise DataError(
            f"{data} has no adult.parquet: name the folder of tables with --data; docs/bench.md says what is in it"
        )
    module, if_quick = TABLES[name]
    made = import_module(module)
    made.main(["--data", str(data), "--out", str(folder), *(if_quick if quick else ())])
    about = " ".join(str(made.__doc__).split("\n\n")[-1].split())
    return publish(folder, module.rpartition(".")[2], about)


@app.command("run")
def run_experiment(
    name: Name,
    data: Data = Path("../shared/data"),
    output: Out = Path("bench-out"),
    fast: Annotated[bool, typer.Option("--quick", help="Fewer budgets and repetitions: minutes.")] = False,
    only: Annotated[str, typer.Option("--only", metavar="TEXT", help="Only runs whose label contains this.")] = "",
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Accuracy runs at a time. Default: one a core.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run what is missing of an experiment, and write its page.

    Repeat the command after an interruption: what was run is kept.
    """
    from equipoise.bench.experiment import load
    from equipoise.bench.runner import run

    speaker = Speaker(json=json, quiet=quiet)
    folder = output / name
    if name in SERIES:
        told = ["--only", only, *(["--quick"] if fast else []), *(["--jobs", str(jobs)] if jobs else [])]
        _series(name).main(["--data", str(data), "--out", str(folder), *told])
        return
    if name in TABLES:
        if only:
            raise SettingError(f"{name} is run as a whole: leave out --only")
        speaker.note(f"the page is {_write_table(name, data, folder, quick=fast)}")
        return
    experiment = load(name)
    with speaker.steps("running") as progress:
        kept = output / experiment.kept_as
        run(experiment, data=data, out=kept, quick=fast, only=only, jobs=jobs, progress=progress, told=speaker.note)
    _show(name, output, speaker)


@app.command("show")
def show_experiment(name: Name, output: Out = Path("bench-out"), json: Json = False, quiet: Quiet = False) -> None:
    """Write an experiment's page anew from what was run, and print the claims of its paper."""
    if name in SERIES or name in TABLES:
        raise SettingError(f"{name} has no claims to judge; `equipoise bench run {name}` writes its page anew")
    _show(name, output, Speaker(json=json, quiet=quiet))


@app.command("peers")
def run_peers(
    data: Data = Path("../shared/data"),
    output: Out = Path("bench-out"),
    table: Annotated[list[str] | None, typer.Option("--table", help="A workload's name; may be repeated.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option("--epsilon", help="A budget; may be repeated.")] = None,
    peer: Annotated[list[str] | None, typer.Option("--peer", help="Only this one; may be repeated.")] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Repetitions.")] = 1,
    minutes: Annotated[
        float, typer.Option("--minutes", help="Processor time of a run; four times that by the clock.")
    ] = 15.0,
    memory: Annotated[float, typer.Option("--memory", help="Of a run, in GiB.")] = 8.0,
    cache: Annotated[
        Path | None,
        typer.Option("--environments", metavar="FOLDER", help="Where environments are kept. Default: in OUT."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Run anew what failed.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare with other packages, each in its own environment, and write a page.

    An environment is made when it is first needed, with pip. Repeat the command after an interruption: what was run is
    kept. A package that fails has a row that says how.
    """
    from equipoise.bench.peers.contest import Contest
    from equipoise.bench.peers.findings import Findings
    from equipoise.bench.peers.page import build
    from equipoise.bench.peers.peer import peers
    from equipoise.bench.peers.process import Limits

    everybody = peers()
    chosen = [each for each in everybody if not peer or each.name in peer]
    if unknown := set(peer or ()) - {each.name for each in everybody}:
        raise SettingError(f"there is no peer {min(unknown)!r}; they are {', '.join(each.name for each in everybody)}")
    speaker, folder = Speaker(json=json, quiet=quiet), output / "peers"
    contest = Contest(
        tables=table or PEERS_ON,
        epsilons=epsilon or (1.0, 0.1),
        peers=chosen,
        limits=Limits(60 * minutes, 4 * 60 * minutes, memory * 2**30),
        cache=cache or folder / "environments",
        runs=runs,
    )
    with speaker.steps("comparing") as progress:
        results = contest.run(data=data, out=folder, again=again, progress=progress, told=speaker.note)
    findings, page = Findings(everybody, results), folder / "index.html"
    page.write_text(build(findings), encoding="utf-8")
    (folder / "peers.md").write_text(findings.markdown, encoding="utf-8")
    told = [each.words for each in findings.shortfalls]
    body = {"page": str(page), "results": len(results), "verdict": findings.verdict, "exceptions": told}
    speaker.result(body, [f"{len(results)} results; the page is {page}", findings.verdict, *told])


@app.command("load")
def load_source(
    name: Annotated[str, typer.Argument(metavar="SOURCE", help="A public source.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILES", help="Its downloaded files, in order.")],
    data: Annotated[Path, typer.Option("--data", metavar="FOLDER", help="Where tables and workloads go.")],
    changed: Annotated[
        bool, typer.Option("--changed", help="Take files whose checksums are not the known ones, too.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make tables and workloads of a public source's files; nothing is downloaded."""
    from equipoise.bench.source_files import prepare
    from equipoise.bench.sources import SOURCES

    if name not in SOURCES:
        raise SettingError(f"there is no source {name!r}; the sources are {', '.join(SOURCES)}")
    made = prepare(SOURCES[name], files, data, changed=changed)
    Speaker(json=json, quiet=quiet).result({"tables": made}, [f"{data} has {', '.join(made)} now"])


def _show(name: str, output: Path, speaker: Speaker) -> None:
    from equipoise.bench.experiment import load
    from equipoise.bench.experiment_page import build, pictures
    from equipoise.bench.runs import read_runs
    from equipoise.bench.summary import failures, own, verdicts
    from equipoise.errors import OutputError

    experiment, folder = load(name), output / name
    runs = own(experiment, read_runs(output / experiment.kept_as / "runs.jsonl"))
    if not runs:
        raise OutputError(f"{folder} has no runs; make some with `equipoise bench run {name}`")
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for file, picture in pictures(experiment, runs).items():
        (folder / "figures" / file).write_text(picture, encoding="utf-8")
    page = folder / "index.html"
    page.write_text(build(experiment, runs), encoding="utf-8")
    judged = verdicts(experiment, runs)
    body = {
        "page": str(page),
        "runs": len(runs),
        "failed": len(failures(runs)),
        "claims": [
            {
                "panel": each.claim.panel,
                "says": each.claim.says,
                "here": each.words,
                "holds": not each.broken,
                "why": each.why,
            }
            for each in judged
        ],
    }
    rows = [(each.claim.panel, each.claim.says, each.words) for each in judged]
    speaker.result(
        body,
        [
            f"{len(runs)} runs, {len(failures(runs))} of them failed; the page is {page}",
            table_of(("table", "the paper's claim", "here"), rows),
        ],
    )
