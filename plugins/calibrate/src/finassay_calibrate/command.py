"""`finassay calibrate`."""

import click


@click.command()
@click.option("--clean", default=60, show_default=True, type=click.IntRange(1, 5000), help="Clean deliveries.")
@click.option(
    "--per-fault", default=5, show_default=True, type=click.IntRange(0, 1000), help="Deliveries in which each kind of fault is planted."
)
@click.option("--fault", "faults", multiple=True, help="Plant only this kind (repeatable).")
@click.option("--seed", default=1, show_default=True, type=int, help="Seed of strategies, markets and layouts.")
@click.option("--jobs", default=0, type=click.IntRange(0, 64), help="Processes; 0 is one for each processor.")
@click.option("--only", type=click.Choice(["checks", "judges", "simulators"]), help="One part of the calibration.")
@click.option("--minutes", default=0.0, type=click.FloatRange(0), help="Start no further delivery after so many minutes; 0 is no limit.")
@click.option("--judge", default="lexical", show_default=True, help="Judge component to attack.")
@click.option("--judge-option", "judge_options", multiple=True, help="Option of the judge: KEY=VALUE (repeatable).")
@click.option(
    "--judge-deliveries", default=4, show_default=True, type=click.IntRange(1, 200), help="Clean deliveries for a judge that varies."
)
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(2, 20), help="Gradings of each by a judge that varies.")
@click.option("--labels", type=click.Path(dir_okay=False, exists=True), help="People's labels (CSV) for the sessions of --labelled-run.")
@click.option("--labelled-run", type=click.Path(file_okay=False, exists=True), help="The run that --labels is about.")
@click.option("--simulator", default="policy", show_default=True, help="Simulator component to attack.")
@click.option("--simulator-option", "simulator_options", multiple=True, help="Option of the simulator: KEY=VALUE (repeatable).")
@click.option("--budget", type=click.FloatRange(0, min_open=True), help="Dollars that models may cost.")
@click.option("--out", type=click.Path(file_okay=False), required=True, help="Folder for calibration.html and calibration.json.")
def calibrate(
    clean: int,
    per_fault: int,
    faults: tuple[str, ...],
    seed: int,
    jobs: int,
    only: str | None,
    minutes: float,
    judge: str,
    judge_options: tuple[str, ...],
    judge_deliveries: int,
    repeats: int,
    labels: str | None,
    labelled_run: str | None,
    simulator: str,
    simulator_options: tuple[str, ...],
    budget: float | None,
    out: str,
) -> None:
    """Measure the evaluator: false vetoes on clean deliveries, detection of planted faults, judges and simulators under attack.

    Markets are synthetic. The exit code is 0 also where goals are missed: what falls short is listed. A judge or simulator that talks to
    models costs what it costs; what they answered is kept under --out, and the same command asks only what is new.
    """
    from finassay_calibrate.calibration import Party, Request, calibration

    if (labels is None) != (labelled_run is None):
        raise click.UsageError("--labels and --labelled-run go together")
    judged = Party(judge, judge_options, judge_deliveries, repeats, labels, labelled_run)
    calibration(Request(clean, per_fault, faults, seed, jobs, only, minutes, judged, Party(simulator, simulator_options), out, budget))
