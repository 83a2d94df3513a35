"""`finassay rubric agree blind`: export and import."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from finassay_rubrics.record.rubric import Rubric


@click.group("blind")
def blind() -> None:
    """Blind preference: two rubrics of one query side by side, judged by experts who do not know where they come from."""


@blind.command("export")
@click.argument("first", type=click.Path(path_type=Path, exists=True))
@click.argument("second", type=click.Path(path_type=Path, exists=True))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the experts: a page to read, a table to fill in.")
@click.option("--key", type=click.Path(path_type=Path), help="Where the sides are kept; OUT.key.json beside the folder if left out.")
@click.option("--names", nargs=2, default=("first", "second"), show_default=True, help="What the two are called when it is told.")
@click.option("--seed", help="Draws the sides; one is drawn and kept in the key if left out.")
def export(first: Path, second: Path, out: Path, key: Path | None, names: tuple[str, str], seed: str | None) -> None:
    """Write the rubrics of FIRST and SECOND side by side, without origin, sides by lot.

    Each is a rubric, a folder with any number of rubrics below it, or a file of any form; queries that both have are compared.
    """
    from finassay_rubrics.measure.blind import FORM, PAGE, paired
    from finassay_rubrics.measure.blind import export as written

    key = key or out.with_name(f"{out.name}.key.json")
    items = written(paired(rubrics_in(first), rubrics_in(second)), names, out, key, seed)
    click.echo(f"{len(items)} pairs: {out / PAGE} to read, {out / FORM} to fill in; {key} tells the sides: keep it from the experts")


@blind.command("import")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("forms", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--key", type=click.Path(path_type=Path), help="The key; FOLDER.key.json beside the folder if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def import_(folder: Path, forms: tuple[Path, ...], key: Path | None, as_json: bool) -> None:
    """Check that nothing was changed, then count: the win rate of the first with an interval over queries.

    FORMS are the tables that experts filled in, one for each or several in one; the folder's own if none is given.
    """
    from finassay_rubrics.cli.telling import tell
    from finassay_rubrics.measure.blind import FORM, preference, read_choices

    key = key or folder.resolve().with_name(f"{folder.resolve().name}.key.json")
    names, choices, empty = read_choices(folder, key, forms or (folder / FORM,))
    found = preference(choices)
    told = {
        "first": names[0],
        "second": names[1],
        "choices": found.judged,
        "left_empty": empty,
        "queries": len({c.query for c in choices}),
        "raters": len(found.by_rater),
        "wins": found.wins,
        "ties": found.ties,
        "losses": found.losses,
        "win_rate_of_first": found.win_rate.json(),
        "sign_test_p": found.sign_test,
        "share_of_left": found.left_share,
        "raters_alike": found.agreement,
        "by_rater": [{"rater": name, "choices": count, "win_rate": round(rate, 4)} for name, (count, rate) in found.by_rater.items()],
    }
    tell(told, as_json)


def rubrics_in(path: Path) -> "list[Rubric]":
    """A rubric, every `rubric.json` below a folder, or what a file of a foreign form holds. Raises `InvalidFileError`."""
    from datetime import UTC, datetime

    from finassay.api.errors import InvalidFileError
    from finassay_rubrics.record.exchange.forms import read
    from finassay_rubrics.record.reading import read_rubric

    if not path.is_dir():
        return read(path, datetime.now(UTC).date())
    found = sorted(path.rglob("rubric.json"))
    if not found:
        raise InvalidFileError(f"{path}: no rubric.json in it or below it")
    return [read_rubric(one) for one in found]
