"""The choices of a layout. Each delivery draws one; every value of every choice comes up."""

from typing import Literal, get_args

import numpy as np
from attrs import field, fields, frozen

Files = Literal["csv", "tsv", "semicolon-csv", "parquet", "json-records", "json-columns", "json-split", "workbook"]
PricesForm = Literal["long", "wide", "wide-two-row-header", "file-per-ticker", "raw-with-splits"]
TradesForm = Literal["fills", "signed-fills", "orders", "round-trips", "net-changes"]
PositionsForm = Literal["wide-shares", "long-shares", "long-values", "daily-weights", "none"]
TargetsForm = Literal["long", "wide"]
Names = Literal["snake", "title", "camel", "library"]
Dates = Literal["iso", "midnight", "utc", "us", "compact"]
Numbers = Literal["plain", "money", "percent", "parentheses"]
Symbols = Literal["dash", "dot", "slash", "exchange-suffix"]
Report = Literal["markdown", "html", "markdown-only-figures", "workbook-figures"]


@frozen
class Layout:
    """One way to hand over the same facts. The defaults are those of the reference agent."""

    files: Files = "csv"
    prices: PricesForm = "long"
    trades: TradesForm = "fills"
    positions: PositionsForm = "wide-shares"
    targets: TargetsForm = "long"
    names: Names = "snake"
    dates: Dates = "iso"
    numbers: Numbers = "plain"
    symbols: Symbols = "dash"
    report: Report = "markdown"
    folders: bool = field(default=True)
    """Whether tables lie in `data/` and `results/`, or all beside the report."""

    @property
    def name(self) -> str:
        """Every choice that is not the default, joined; `plain` without one."""
        odd = [str(getattr(self, a.name)) for a in fields(Layout) if a.name != "folders" and getattr(self, a.name) != a.default]
        return "+".join([*odd, *([] if self.folders else ["flat"])]) or "plain"


CHOICES: dict[str, tuple[str, ...]] = {
    "files": get_args(Files),
    "prices": get_args(PricesForm),
    "trades": get_args(TradesForm),
    "positions": get_args(PositionsForm),
    "targets": get_args(TargetsForm),
    "names": get_args(Names),
    "dates": get_args(Dates),
    "numbers": get_args(Numbers),
    "symbols": get_args(Symbols),
    "report": get_args(Report),
}


def draw_layout(rng: np.random.Generator) -> Layout:
    """A layout that differs from the plain one in about three choices, so that most pairs of oddities meet over a few hundred draws."""
    picked: dict[str, object] = {}
    for name, options in CHOICES.items():
        if rng.random() < 0.35:
            picked[name] = options[int(rng.integers(1, len(options)))]
    if picked.get("prices") == "raw-with-splits" and picked.get("trades") == "round-trips":
        # One size for entry and exit cannot tell of shares that a split multiplied in between: nobody can hand that over rightly.
        del picked["prices"]
    return Layout(**picked, folders=bool(rng.random() < 0.75))  # type: ignore[arg-type]
