"""What reading a delivery gives: the words that every check of this distribution shares.

Canonical frames
----------------
Whatever layout an agent used, a table in a role is brought into one long frame. Dates are naive, midnight-normalised `datetime64`
(the date in the exchange's zone); tickers are upper-case text with `-` for class shares (`BRK-B`); numbers are float64; a value that the
delivery does not give is NaN/NaT/None in a column that is always present. `row` is the 1-based row in the delivered table, for evidence.

========== =====================================================================================================================
role        columns
========== =====================================================================================================================
prices      date, ticker, open, high, low, close, adj_close, volume, row — `close` is what marks positions
signals     date, ticker, name, score, rank, fill_date, row — one row a (date, ticker, signal name); date is the decision date
weights     date, ticker, weight, kind, fill_date, row — weight as a fraction; date is the decision date where both are given; kind
is `target`
            (decision rows) or `held` (daily rows)
positions   date, ticker, shares, dollars, row — cash is the ticker `$CASH` in dollars
trades      fill_date, signal_date, ticker, shares, price, fee, value, reason, id, weight_before, target_weight, decided_by, row —
shares are
            signed (negative sells); value = |shares|·price unless delivered; fee ≥ 0 in money; `decided_by` is the deciding value
            if delivered
round_trips entry_date, exit_date, ticker, shares, entry_price, exit_price, pnl, fee, entry_fee, exit_fee, open, row — fee is of both
sides
equity      date, equity, ret, cash, fees, row — equity in money or as an index; ret as a fraction
benchmark   date, equity, ret, name, row
states      date, name, value, row — value is a bool, or the number that decides
events      date, ticker, event, fill_date, row
fundamentals period_end, announced, ticker, name, value, row
universe    ticker, start, end, row
cash_flows  date, amount, timing, row — deposits positive; timing is `before`, `after` or empty
actions     date, ticker, kind, value, row — kind is `split` (new shares for one old) or `dividend` (money a share)
entries     date, ticker, price, side, row — a log without sizes
========== =====================================================================================================================

`metrics`, `spec`, `sources`, `checks`, `variants` and `periods` keep the delivered frame.
"""

from collections.abc import Mapping
from datetime import date
from typing import Literal

import pandas as pd
from attrs import Factory, field, frozen

Role = Literal[
    "prices",
    "signals",
    "weights",
    "positions",
    "trades",
    "round_trips",
    "equity",
    "benchmark",
    "variants",
    "periods",
    "metrics",
    "states",
    "events",
    "fundamentals",
    "universe",
    "cash_flows",
    "actions",
    "entries",
    "spec",
    "sources",
    "checks",
    "unknown",
]


@frozen
class Finding:
    """Something a person should see: a file that could not be read, an ambiguous table, twins that differ."""

    check: str
    """Kebab-case kind, for example `unreadable-file`, `archive-not-opened`, `ambiguous-role`."""
    message: str
    file: str = ""
    rows: tuple[str, ...] = ()
    expected: str = ""
    found: str = ""


@frozen(eq=False)
class Table:
    """One delivered table as read: cells as delivered (text or number), header found, nothing interpreted yet."""

    where: str
    """`path`, `path#sheet`, `path#sheet!2`, `a3#table1`."""
    path: str
    """Delivered path, or a message id for a table inside a message."""
    turn: int
    current: bool
    """Not superseded (spec D.0.1)."""
    frame: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()
    """What stood above the header, and what the reader decided."""


@frozen(eq=False)
class RoleTable:
    """A table in one role: the canonical frame, the column mapping and why."""

    role: Role
    table: Table
    columns: Mapping[str, str]
    """Canonical column to delivered column."""
    reasons: tuple[str, ...]
    frame: pd.DataFrame = field(repr=False)


@frozen(eq=False)
class Choice:
    """Which candidate of a role counts."""

    role: Role
    status: Literal["found", "missing", "ambiguous"]
    chosen: RoleTable | None
    candidates: tuple[RoleTable, ...]
    reasons: tuple[str, ...]


@frozen
class Document:
    """Prose or code read safely from a delivered file, or an agent's message (`where` = message id)."""

    where: str
    text: str
    turn: int
    current: bool


MetricName = Literal[
    "total_return",
    "annual_return",
    "annual_vol",
    "sharpe",
    "sortino",
    "max_drawdown",
    "trades",
    "turnover",
    "win_rate",
    "exposure",
    "beta",
    "alpha",
    "fees",
]


@frozen
class Figure:
    """A reported headline figure. Returns, drawdowns (negative), volatility, rates as fractions."""

    metric: MetricName
    value: float
    precision: float
    """Half a unit of the last printed digit, in the same unit as `value`."""
    where: str
    text: str
    """The verbatim sentence, row or cell."""
    basis: Mapping[str, str] = Factory(dict)
    """What the text states: `period`, `annualisation`, `costs` (gross/net), `benchmark`, `unit`."""


@frozen(eq=False)
class Delivered:
    """A delivery as read: everything the checks start from."""

    tables: tuple[Table, ...]
    role_tables: tuple[RoleTable, ...]
    choices: Mapping[Role, Choice]
    reports: tuple[Document, ...]
    """The last report's documents, the one that the last message names first in front (spec D.0.1)."""
    earlier_report: Document | None
    """The newest earlier version of the last report with other bytes."""
    last_message: Document | None
    messages: tuple[Document, ...]
    """All the agent's messages in order."""
    documents: tuple[Document, ...]
    """All prose of the current tree."""
    code: tuple[Document, ...]
    """Current code files, notebooks' code cells included."""
    figures: tuple[Figure, ...]
    """Headline figures: text of the last report and message first, then the metrics table."""
    findings: tuple[Finding, ...]
    superseded: Mapping[str, str] = Factory(dict)
    """Path of this turn's tree that is not current, to the rule that says so."""

    def frame(self, role: Role) -> pd.DataFrame | None:
        """Canonical frame of the chosen table of a role, or None if missing or ambiguous."""
        choice = self.choices.get(role)
        return choice.chosen.frame if choice and choice.chosen is not None else None


@frozen(eq=False)
class Rebuilt:
    """The portfolio as the program rebuilds it from delivered trades and prices, or from weights and prices."""

    source: Literal["trades", "round_trips", "weights"]
    start_capital: float
    equity: pd.Series = field(repr=False)
    """Value at each session's close, indexed by date; the first entry is the start capital on the session before the first fill."""
    cash: pd.Series = field(repr=False)
    shares: pd.DataFrame = field(repr=False)
    """date × ticker, shares held after the close."""
    weights: pd.DataFrame = field(repr=False)
    """date × ticker, value of holdings over equity at the close."""
    fees: pd.Series = field(repr=False)
    notes: tuple[str, ...] = ()
    first_divergence: tuple[date, float] | None = None
    """First date on which the delivered equity leaves the rebuilt one beyond 0.5 %, with the relative difference."""


@frozen
class MetricMatch:
    """One reported metric beside the program's own value."""

    metric: str
    reported: float
    recomputed: float | None
    tolerance: float
    matches: bool
    convention: str = ""
    """The usual convention under which it matches, if not the default one; or the fingerprint of the fault that explains it."""
    where: str = ""
