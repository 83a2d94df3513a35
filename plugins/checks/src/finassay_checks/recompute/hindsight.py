"""What 3.1 says of decisions on what only became known later: members, announcements, restatements, windows that reach ahead."""

from collections.abc import Iterator

from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.facts.survivorship import survivorship
from finassay_checks.recompute.entered import EarlyEntry, Outsider, chosen, early_entries, membership
from finassay_checks.recompute.lags import information, lags
from finassay_checks.recompute.reaching import reaching
from finassay_checks.recompute.vintages import figures, restated_cells, vintages

SHOWN = 8


@frozen
class Hindsight:
    """One kind of look-ahead with its evidence. `reason` is empty where it is evidence that lowers nothing by itself."""

    name: str
    """Key of its count among the facts of 3.1."""
    what: str
    where: str
    rows: tuple[str, ...]
    found: str
    expected: str
    count: int
    reason: str = ""


def faults_of_hindsight(package: Package) -> Iterator[Hindsight]:
    """All kinds that hold. Each is a decision input that was not known when it was used (spec 3.1, level 1) unless its reason is empty."""
    yield from _members(package)
    yield from _announced(package)
    yield from _restated(package)
    yield from _reaching(package)


def limits_of_hindsight(package: Package) -> list[tuple[str, str]]:
    """(text, where) of what could not be told, and of what limits a backtest without being a fault."""
    notes = []
    delivered = package.fact(read_delivery)
    found, fundamentals = package.fact(vintages), package.fact(figures)
    notes += [(one.status, _where(package, "signals")) for one in found if not one.late]
    signals = delivered.frame("signals")
    scores = set(signals["name"].fillna("").astype(str)) if signals is not None else set()
    by_prices = bool(scores) and scores <= {one.name for one in package.fact(information)}
    if fundamentals is not None and not by_prices and not any(one.sight for one in found) and (cells := restated_cells(fundamentals)):
        text = f"{cells} figures were restated; whether the restated values were used before they were public cannot be told from scores"
        notes.append((text, _where(package, "fundamentals")))
    survivors = package.fact(survivorship)
    if survivors is not None:
        notes += [(f"survivorship, a limit and no fault: {text}", _where(package, "universe")) for text in survivors.notes()]
    return notes


def _where(package: Package, role: str) -> str:
    table = chosen(package.fact(read_delivery), role)
    return table.table.where if table is not None else ""


def _restated(package: Package) -> Iterator[Hindsight]:
    """Scores that only later versions of the figures reproduce."""
    for one in package.fact(vintages):
        if one.late:
            figures = _where(package, "fundamentals")
            rows = tuple(
                f"row {v.row}: {v.ticker} on {v.date.date()} holds a value announced {v.announced.date()} (row {v.figure} of {figures})"
                for v in one.late[:SHOWN]
            )
            yield Hindsight(
                "restated_early" if one.sight == "restated" else "used_from_period_end",
                "a score holds figures that were announced after its date",
                _where(package, "signals"),
                rows,
                one.status,
                "the version that was announced by the score's date",
                len(one.late),
                "A score follows figures that were announced only after its date.",
            )


def _members(package: Package) -> Iterator[Hindsight]:
    found = package.fact(membership)
    if found is None:
        return
    expected = f"purchases of members only, as {found.universe} dates them"
    if found.before:
        yield Hindsight(
            "bought_before_membership",
            "bought before it was a member",
            found.where,
            tuple(_outsider(o) for o in found.before[:SHOWN]),
            f"{len(found.before)} of {found.bought} purchases",
            expected,
            len(found.before),
            "Names were bought before they belonged to the universe: who would join it later was known.",
        )
    # A name that had left, or was never listed, was no secret on its day: 3.8 counts it, and 3.1 shows it.
    for name, what, outsiders in (
        ("bought_after_removal", "bought after it had left the universe", found.after),
        ("bought_never_a_member", "bought without ever being a member", found.never),
    ):
        if outsiders:
            rows = tuple(_outsider(o) for o in outsiders[:SHOWN])
            yield Hindsight(name, what, found.where, rows, f"{len(outsiders)} of {found.bought} purchases", expected, len(outsiders))


def _outsider(one: Outsider) -> str:
    return f"row {one.row}: {one.ticker} bought {one.day.date()}, {f'member {one.spans}' if one.spans else 'not listed'}"


def _announced(package: Package) -> Iterator[Hindsight]:
    """Entries on figures that were not public. Without a period in the row only a log without scores ties purchases to figures."""
    found = package.fact(early_entries)
    if found is None:
        return
    signals = package.fact(read_delivery).frame("signals")
    if not found.named and signals is not None and not signals.empty:
        return
    for name, what, entries, reason in (
        (
            "entered_before_announcement",
            "entered before the figures were announced",
            found.early,
            "Entries come before their figures were announced.",
        ),
        (
            "entered_on_announcement_day",
            "entered on the day of the announcement, and no time of day shows the order",
            found.same_day,
            "Entries are on the day of their announcement, and nothing shows that it came first.",
        ),
    ):
        if entries:
            rows = tuple(_entry(e, found.figures) for e in entries[:SHOWN])
            expected = "an entry after the announcement of its figures"
            yield Hindsight(name, what, found.where, rows, f"{len(entries)} entries", expected, len(entries), reason)


def _entry(one: EarlyEntry, figures: str) -> str:
    return f"row {one.row}: {one.ticker} entered {one.entered.date()}, announced {one.announced.date()} (row {one.figure} of {figures})"


def _reaching(package: Package) -> Iterator[Hindsight]:
    """Scores and timing series that only data after their dates reproduce. Where a log shows fills after the last price that they need,
    their date is a label and nothing was used early."""
    delay = package.fact(lags)
    for one in package.fact(reaching):
        label = delay is not None and one.role == "signals" and not len(delay.late)
        yield Hindsight(
            "window_reaches_ahead",
            f"'{one.name}' is {one.formula}, on {one.compared} sampled values",
            _where(package, one.role),
            one.rows,
            f"it reproduces {one.share:.0%} of dates, {one.trailing} reproduces {one.trailing_share:.0%}",
            one.trailing,
            one.compared,
            "" if label else f"'{one.name}' uses prices from after its date: {one.formula}.",
        )
