"""`finassay agree`."""

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--judges", nargs=2, metavar="A B", help="Two judges, each as 'ID KEY=VALUE …', that grade what they have not graded yet.")
@click.option("--judge", metavar="A", help="One judge, against labels or against itself.")
@click.option("--repeats", type=click.IntRange(2, 20), help="Let the judge grade so many times, and compare the times with each other.")
@click.option(
    "--labels", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="CSV of labels: session, dimension, level, rater."
)
@click.option("--session", "sessions", multiple=True, help="Only this session (repeatable).")
@click.option("--dimension", "dimensions", multiple=True, help="Only this dimension (repeatable).")
@click.option("--draws", default=2_000, show_default=True, type=click.IntRange(0, 100_000), help="Bootstrap resamples of the sessions.")
@click.option("--seed", default=0, show_default=True, type=int, help="Seed of the resamples.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="JSON file for the figures.")
def agree(
    run: Path,
    judges: tuple[str, str] | None,
    judge: str | None,
    repeats: int | None,
    labels: Path | None,
    sessions: tuple[str, ...],
    dimensions: tuple[str, ...],
    draws: int,
    seed: int,
    out: Path | None,
) -> None:
    """Measure how far judges agree on the sessions of RUN: exact and adjacent levels, quadratic kappa, bias, abstentions.

    Without --judges or --judge it compares the gradings that the run holds, with each other or with --labels. What a model has answered
    once for this run is not asked again.
    """
    from finassay_agree.agreeing import Request, agreeing

    agreeing(Request(run, judges or ((judge,) if judge else ()), repeats or 1, labels, sessions, dimensions, draws, seed, out))
