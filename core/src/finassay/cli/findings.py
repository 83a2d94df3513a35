"""What `finassay doctor` found: a line for each thing, a summary, and whether it is well."""

from typing import Final

import click
from attrs import define, field

from finassay.api.errors import FinassayError
from finassay.cli.words import count, one_line

_LOOKS: Final = {"ok": "green", "--": "yellow", "!!": "red"}
_NAMED: Final = 8


@define
class Findings:
    """Prints lines as they come: `ok`, `--` for what is not here and a run does without, `!!` for what it does not do without."""

    well: int = 0
    lacking: list[str] = field(factory=list)
    broken: list[str] = field(factory=list)

    def __call__(self, ok: bool, what: str, detail: str, hint: str = "", *, needed: bool = False) -> None:
        mark = "ok" if ok else "!!" if needed else "--"
        if ok:
            self.well += 1
        else:
            (self.broken if needed else self.lacking).append(what)
        click.echo(
            f"{click.style(mark, fg=_LOOKS[mark])}  {one_line(f'{what}: {detail}')}" + (f"  ({one_line(hint)})" if hint and not ok else "")
        )

    def conclude(self, broken: str, hint: str = "") -> None:
        """Print the summary. Raises `FinassayError` that begins with `broken` if something is that is needed."""
        parts = [f"{self.well} ok"]
        if self.lacking:
            parts.append(f"{len(self.lacking)} not set up, needed only by a run that names it ({_listed(self.lacking)})")
        parts.append(f"{len(self.broken)} to mend" if self.broken else "nothing to mend")
        click.echo("; ".join(parts))
        if self.broken:
            raise FinassayError(f"{broken}: {_listed(self.broken)}", hint=hint)


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {count(more, 'other')}" if more > 0 else "")
