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
@click.option("--simulator", default="policy", show_default=True, help="Simulator component to attack.")
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
    simulator: str,
    out: str,
) -> None:
    """Measure the evaluator: false vetoes on clean deliveries, detection of planted faults, judges and simulators under attack.

    Markets are synthetic. The exit code is 0 also where goals are missed: what falls short is listed.
    """
    from finassay_calibrate.calibration import Request, calibration

    calibration(Request(clean, per_fault, faults, seed, jobs, only, minutes, judge, simulator, out))
