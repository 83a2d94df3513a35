"""Delivered files as a page may show them. Nothing is executed, unpacked or rendered; what is read is bounded."""

import io
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

from finassay.api.delivery import DeliveredFile, Delivery
from finassay_report.text import visible_line

if TYPE_CHECKING:
    import pandas as pd

TEXT: Final = frozenset(
    {
        ".cfg",
        ".csv",
        ".htm",
        ".html",
        ".ini",
        ".ipynb",
        ".jl",
        ".json",
        ".jsonl",
        ".log",
        ".markdown",
        ".md",
        ".py",
        ".r",
        ".rst",
        ".sh",
        ".sql",
        ".tex",
        ".toml",
        ".tsv",
        ".txt",
        ".xml",
        ".yaml",
        ".yml",
    }
)
MAX_FILES: Final = 200
MAX_PREVIEWS: Final = 60
MAX_COLUMNS: Final = 12
MAX_CELL: Final = 60
HEAD_ROWS: Final = 8
MAX_CURVE_BYTES: Final = 30_000_000
MAX_CURVE_ROWS: Final = 50_000
_CURVE_NAME: Final = re.compile(r"equity|nav|portfolio_?value|wealth|curve|balance", re.IGNORECASE)
_NOT_CURVE: Final = re.compile(r"bench|sensitiv|variant|scenario", re.IGNORECASE)
_VALUE_COLUMN: Final = re.compile(r"^(?:nav|equity|portfolio_?value|value|balance|wealth|growth|total|net)", re.IGNORECASE)


@frozen
class Table:
    """The first rows of a delimited file."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more_columns: int


@frozen
class FileView:
    """One delivered file. `text` and `table` are None where nothing is shown, `note` says why; `unread` says why grading did not look into it."""

    path: str
    size: int
    text: str | None = None
    table: Table | None = None
    note: str = ""
    unread: str = ""


@frozen
class Curve:
    """An equity curve: ISO dates and values, and the drawdown from the running maximum (0 or below)."""

    path: str
    column: str
    dates: tuple[str, ...]
    values: tuple[float, ...]
    drawdown: tuple[float, ...]


class Bytes:
    """Delivered bytes by content hash, under the folder of a view; an unknown hash gives nothing."""

    def __init__(self, root: str) -> None:
        self.root = Path(root) if root else None

    def head(self, file: DeliveredFile, limit: int) -> bytes | None:
        """The first bytes of a file, or None if they are not stored."""
        if self.root is None or not re.fullmatch(r"[0-9a-f]{64}", file.sha256):
            return None
        try:
            with open(self.root / file.sha256[:2] / file.sha256, "rb") as stream:
                return stream.read(limit)
        except OSError:
            return None


def files(delivery: Delivery, stored: Bytes, preview: int, unread: Mapping[str, str] | None = None) -> tuple[FileView, ...]:
    """The files of a delivery, the first of them with a preview. `unread` gives, by shown path, why grading did not look into a file."""
    found = (_file(file, stored, preview if index < MAX_PREVIEWS else 0) for index, file in enumerate(delivery.files[:MAX_FILES]))
    return tuple(evolve(view, unread=(unread or {}).get(view.path, "")) for view in found)


def _file(file: DeliveredFile, stored: Bytes, preview: int) -> FileView:
    suffix = PurePosixPath(file.path).suffix.lower()
    path = visible_line(file.path)
    if suffix not in TEXT:
        return FileView(path, file.size, note="not shown: no text file")
    if preview == 0:
        return FileView(path, file.size, note="not shown")
    content = stored.head(file, preview)
    if content is None:
        return FileView(path, file.size, note="its bytes are not stored with the run")
    cut = file.size > len(content)
    if suffix in (".csv", ".tsv"):
        table = _table(content, "\t" if suffix == ".tsv" else ",", cut)
        if table is not None:
            return FileView(path, file.size, table=table, note="first rows" if cut or len(table.rows) == HEAD_ROWS else "")
    return FileView(path, file.size, text=_decode(content), note="beginning only" if cut else "")


def _decode(content: bytes) -> str:
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return content.decode(encoding, "replace")


def _read_csv(content: bytes, delimiter: str, cut: bool, rows: int) -> "pd.DataFrame | None":
    import pandas as pd

    if cut:  # the last line is not whole
        content = content[: content.rfind(b"\n") + 1]
    try:
        return pd.read_csv(
            io.StringIO(_decode(content)),
            sep=delimiter,
            dtype=str,
            nrows=rows,
            keep_default_na=False,
            on_bad_lines="skip",
            index_col=False,
            engine="c",
        )
    except (ValueError, pd.errors.ParserError, pd.errors.EmptyDataError, pd.errors.ParserWarning):
        return None


def _table(content: bytes, delimiter: str, cut: bool) -> Table | None:
    frame = _read_csv(content, delimiter, cut, HEAD_ROWS)
    if frame is None or frame.shape[1] < 2:
        return None
    shown = frame.iloc[:, :MAX_COLUMNS]
    return Table(
        columns=tuple(visible_line(str(name), MAX_CELL) for name in shown.columns),
        rows=tuple(tuple(visible_line(str(cell), MAX_CELL) for cell in row) for row in shown.itertuples(index=False, name=None)),
        more_columns=max(0, frame.shape[1] - MAX_COLUMNS),
    )


def curve(delivery: Delivery, stored: Bytes) -> Curve | None:
    """The delivered equity curve, from the CSV file whose name and columns say so; None if no file is readable as one."""
    candidates = [f for f in delivery.files if f.path.lower().endswith(".csv") and _CURVE_NAME.search(PurePosixPath(f.path).name)]
    for file in sorted(candidates, key=lambda f: (bool(_NOT_CURVE.search(f.path)), len(f.path), f.path)):
        content = stored.head(file, MAX_CURVE_BYTES)
        frame = _read_csv(content, ",", file.size > len(content), MAX_CURVE_ROWS) if content else None
        found = _curve(frame, visible_line(file.path)) if frame is not None else None
        if found is not None:
            return found
    return None


def _curve(frame: "pd.DataFrame", path: str) -> Curve | None:
    import pandas as pd

    dates = next((d for d in (_dates(column) for _, column in islice(frame.items(), 4)) if d is not None), None)
    column = next((str(name) for name in frame.columns if _VALUE_COLUMN.match(str(name).strip())), None)
    if dates is None or column is None:
        return None
    values = pd.to_numeric(frame[column], errors="coerce")
    kept = pd.DataFrame({"date": dates, "value": values}).dropna()
    kept = kept[(kept["value"] > 0) & (kept["value"] < 1e15)].sort_values("date")
    if len(kept) < 2:
        return None
    drawdown = kept["value"] / kept["value"].cummax() - 1.0
    return Curve(
        path=path,
        column=visible_line(column, MAX_CELL),
        dates=tuple(kept["date"].dt.strftime("%Y-%m-%d")),
        values=tuple(kept["value"].astype(float)),
        drawdown=tuple(drawdown.astype(float)),
    )


def _dates(column: "pd.Series[str]") -> "pd.Series[pd.Timestamp] | None":
    """The column as dates without a zone, if nearly all of it reads as ISO 8601."""
    import pandas as pd

    try:
        found = pd.to_datetime(column.str.slice(0, 10), errors="coerce", format="%Y-%m-%d")
    except (ValueError, OverflowError):
        return None
    return found if len(found) and found.notna().mean() >= 0.95 else None
