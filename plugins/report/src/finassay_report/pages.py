"""From values to HTML."""

from collections.abc import Mapping
from datetime import datetime

from jinja2 import Environment, PackageLoader, StrictUndefined

from finassay.api.scorecard import RunView, SessionView
from finassay_report.run_page import JUDGE_VETO_NAMES, run_page
from finassay_report.session_page import session_page
from finassay_report.text import visible, visible_line


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage; an en dash where there is none."""
    return "–" if value is None else f"{100 * value:.{digits}f}"


def number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def counted(value: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{value:,} {noun}" + ("" if value == 1 else "s")


def size(value: int) -> str:
    """Bytes for people."""
    for unit, factor in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if value >= factor:
            return f"{value / factor:.1f} {unit}"
    return f"{value} B"


def day(value: str) -> str:
    """The day and minute of an ISO stamp; other text as it is."""
    try:
        return datetime.fromisoformat(value).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return visible_line(value, 40)


class Pages:
    """Renders pages. Values are escaped by default; only charts and text that was made visible are marked as HTML."""

    def __init__(self, *, resamples: int, preview_bytes: int) -> None:
        self.resamples, self.preview_bytes = resamples, preview_bytes
        self.environment = Environment(
            loader=PackageLoader("finassay_report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.environment.filters.update(
            percent=percent, number=number, counted=counted, size=size, day=day, visible=visible, line=visible_line
        )

    def run(self, run: RunView, links: Mapping[str, str]) -> str:
        page = run_page(run, links, self.resamples)
        return self.environment.get_template("run.html.j2").render(p=page, judge_vetoes=JUDGE_VETO_NAMES)

    def session(self, run: RunView, session: SessionView) -> str:
        page = session_page(run, session, self.preview_bytes)
        return self.environment.get_template("session.html.j2").render(p=page)
