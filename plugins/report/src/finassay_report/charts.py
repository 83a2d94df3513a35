"""Inline SVG. Colours come from the page's style sheet, so that one chart serves light and dark; numbers are all that varies."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen
from markupsafe import Markup

from finassay_report.delivered import Curve

MAX_POINTS: Final = 700


@frozen
class Cell:
    """One square of the heat map: a style class and what a pointer is told."""

    style: str
    title: str


@frozen
class Column:
    """One session of the heat map."""

    link: str
    title: str
    satisfied: bool
    cells: tuple[Cell, ...]


@frozen
class Group:
    """The sessions of one agent, satisfied ones first."""

    label: str
    columns: tuple[Column, ...]


@frozen
class RowLabel:
    """One dimension of the heat map. `judge` is a style class: program, both or judge."""

    text: str
    judge: str
    veto: bool
    first: bool
    """Starts a category."""


_LABEL: Final = 218
_TOP: Final = 36
_ROW: Final = 15


def heat_map(rows: Sequence[RowLabel], groups: Sequence[Group]) -> Markup:
    """Dimensions by sessions (figure 4 of the paper): a strip for satisfied users on top, a dark line after them in each group."""
    count = sum(len(group.columns) for group in groups)
    side = max(5.0, min(18.0, (1080 - _LABEL - 12 * len(groups)) / max(count, 1)))
    height = _TOP + 12 + _ROW * len(rows) + 6 * sum(row.first for row in rows)
    tops, y = [], float(_TOP + 12)
    for row in rows:
        y += 6 if row.first else 0
        tops.append(y)
        y += _ROW
    parts, x = _row_labels(rows, tops), float(_LABEL)
    for group in groups:
        x = _group(parts, group, tops, x, side, height) + 12
    return _svg("heat", "Level of every scored dimension in every session", x, height + 4, parts)


def _row_labels(rows: Sequence[RowLabel], tops: Sequence[float]) -> list[Markup]:
    return [
        Markup('<rect class="j-{}" x="0" y="{:.1f}" width="{}" height="{}"/><text class="lab{}" x="6" y="{:.1f}">{}</text>').format(
            row.judge, top, _LABEL - 8, _ROW - 1, " veto" if row.veto else "", top + 11, row.text
        )
        for row, top in zip(rows, tops, strict=True)
    ]


def _group(parts: list[Markup], group: Group, tops: Sequence[float], x: float, side: float, height: float) -> float:
    """Draw one agent's columns from `x` on; the x after them."""
    start, satisfied = x, sum(column.satisfied for column in group.columns)
    parts.append(Markup('<text class="grp" x="{:.1f}" y="14">{}</text>').format(start, group.label))
    for column in group.columns:
        cells = Markup("").join(
            Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}"><title>{}</title></rect>').format(
                cell.style, x, top, side - 1, _ROW - 1, cell.title
            )
            for cell, top in zip(column.cells, tops, strict=True)
        )
        strip = Markup('<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="8"><title>{}</title></rect>').format(
            "sat" if column.satisfied else "unsat", x, _TOP - 4, side - 1, column.title
        )
        parts.append(Markup('<a href="{}">{}{}</a>').format(column.link, strip, cells))
        x += side
    if 0 < satisfied < len(group.columns):
        parts.append(_line("split", start + satisfied * side - 0.5, start + satisfied * side - 0.5, _TOP - 8, height))
    return max(x, start + 8.0 * len(group.label))


@frozen
class Series:
    """A line by turn."""

    label: str
    points: tuple[tuple[int, float], ...]


def turn_chart(series: Sequence[Series], top: float, label: str) -> Markup:
    """Lines over the turns of a session, from 0 to `top`, each labelled at its end."""
    width, height, left, bottom, right = 520, 250, 34, 26, 110
    turns = max((turn for one in series for turn, _ in one.points), default=1)
    step = (width - left - right) / max(turns - 1, 1)

    def place(turn: int, value: float) -> tuple[float, float]:
        return left + (turn - 1) * step, 12 + (height - bottom - 12) * (1 - value / top)

    parts = [_grid_line(left, width - right, place(1, value)[1], f"{value:g}") for value in (0, top / 4, top / 2, 3 * top / 4, top)]
    parts += [_text("tick mid", place(turn, 0)[0], height - 8, str(turn)) for turn in range(1, turns + 1)]
    ends: list[float] = []
    for index, one in enumerate(series):
        spots = [place(turn, value) for turn, value in one.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(Markup('<polyline class="line s{}" points="{}"/>').format(index % 6, path))
        parts += [Markup('<circle class="dot s{}" cx="{:.1f}" cy="{:.1f}" r="3"/>').format(index % 6, x, y) for x, y in spots]
        if spots:
            level = _free(spots[-1][1], ends, -13 if spots[-1][1] > height / 2 else 13)
            parts.append(_text(f"end s{index % 6}", spots[-1][0] + 8, level + 4, one.label[:16]))
    return _svg("chart", label, width, height, parts)


def _free(wanted: float, taken: list[float], step: float) -> float:
    """A height near `wanted` where no other label stands."""
    level = wanted
    while any(abs(level - other) < 13 for other in taken):
        level += step
    taken.append(level)
    return level


def _grid_line(x1: float, x2: float, y: float, text: str) -> Markup:
    return _line("grid", x1, x2, y, y) + _text("tick end-anchor", x1 - 6, y + 4, text)


def _line(style: str, x1: float, x2: float, y1: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(style, x1, x2, y1, y2)


def _text(style: str, x: float, y: float, text: str) -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(style, x, y, text)


def _svg(style: str, label: str, width: float, height: float, parts: Iterable[Markup]) -> Markup:
    return Markup('<svg class="{}" role="img" aria-label="{}" viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}">{}</svg>').format(
        style, label, width, height, width, Markup("").join(parts)
    )


@frozen
class Part:
    """A piece of a stacked bar."""

    style: str
    label: str
    count: int


def stacked(rows: Mapping[str, Iterable[Part]], unit: str) -> Markup:
    """Horizontal bars of counts, one a row, each as long as its share of the row's total."""
    left, width, high, parts = 150, 820, 30, []
    for index, (label, pieces) in enumerate(rows.items()):
        shown, x = [piece for piece in pieces if piece.count], float(left)
        total = sum(piece.count for piece in shown) or 1
        parts.append(_text("lab", 0, index * high + 18, label[:24]))
        for piece in shown:
            wide = (width - left) * piece.count / total
            parts.append(
                Markup('<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="20" rx="1"><title>{}: {} {}</title></rect>').format(
                    piece.style, x, index * high + 4, max(wide - 1.5, 1), piece.label, piece.count, unit
                )
            )
            if wide > 22:
                parts.append(_text(f"in {piece.style}-t", x + wide / 2, index * high + 18, str(piece.count)))
            x += wide
    return _svg("chart bars", unit, width, max(len(rows), 1) * high, parts)


def equity_chart(curve: Curve) -> Markup:
    """The delivered equity curve above its drawdown."""
    picked = _thin(len(curve.values))
    values, falls = [curve.values[i] for i in picked], [curve.drawdown[i] for i in picked]
    upper = _panel(values, 12, 190, "eq", _short)
    lower = _panel(falls, 222, 80, "dd", _percent(min(falls)), top=0.0)
    years = _date_ticks([curve.dates[i] for i in picked])
    return _svg("chart wide", "Delivered equity curve and drawdown", 860, 330, (upper, lower, years))


_LEFT, _RIGHT = 64, 850


def _thin(count: int) -> list[int]:
    """Indexes of at most `MAX_POINTS` points, first and last among them."""
    if count <= MAX_POINTS:
        return list(range(count))
    return sorted({round(i * (count - 1) / (MAX_POINTS - 1)) for i in range(MAX_POINTS)})


def _x(index: int, count: int) -> float:
    return _LEFT + (_RIGHT - _LEFT) * index / max(count - 1, 1)


def _short(value: float) -> str:
    for size, unit in ((1e9, "bn"), (1e6, "m"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _percent(lowest: float) -> Callable[[float], str]:
    digits = 0 if lowest < -0.1 else 1
    return lambda value: f"{100 * value:.{digits}f} %"


def _panel(values: Sequence[float], y: float, height: float, style: str, write: Callable[[float], str], top: float | None = None) -> Markup:
    low, high = min(values), max(values) if top is None else top
    span = (high - low) or 1.0
    shares = (0.0, 0.5, 1.0) if style == "dd" else (0.0, 0.25, 0.5, 0.75, 1.0)

    def level(value: float) -> float:
        return y + height * (1 - (value - low) / span)

    marks = [_grid_line(_LEFT, _RIGHT, level(low + span * share), write(low + span * share)) for share in shares]
    path = " ".join(f"{_x(i, len(values)):.1f},{level(v):.1f}" for i, v in enumerate(values))
    base = y if style == "dd" else y + height
    area = Markup('<polygon class="area {}" points="{},{} {} {},{}"/>').format(style, _LEFT, base, path, _RIGHT, base)
    return Markup("").join([*marks, area, Markup('<polyline class="line {}" points="{}"/>').format(style, path)])


def _date_ticks(dates: Sequence[str]) -> Markup:
    """The first, last and up to six dates between."""
    wanted = sorted({round(i * (len(dates) - 1) / 6) for i in range(7)})
    return Markup("").join(
        _text("tick " + ("end-anchor" if index == wanted[-1] else "mid" if index else ""), _x(index, len(dates)), 322, dates[index][:7])
        for index in wanted
    )
