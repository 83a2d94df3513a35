"""A process of its own for formats whose parsers may allocate or loop without bound: `python -I -m finassay_checks.reading.worker
KIND PATH LIMITS`.

It bounds its own memory and processor time, and writes one JSON object: the content, or `{"unreadable": [kind, message]}`.
"""

import json
import resource
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from attrs import asdict

from finassay_checks.reading.limits import ReadLimits, Unreadable

KINDS = ("workbook", "pdf")


def in_worker(kind: str, path: Path, limits: ReadLimits) -> Any:
    """Parse a file in a worker and return what it found. Raises `Unreadable`, also when the worker dies or takes too long."""
    command = [sys.executable, "-I", "-m", "finassay_checks.reading.worker", kind, str(path), json.dumps(asdict(limits))]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=2 * limits.worker_seconds, check=False)
    except subprocess.TimeoutExpired:
        raise Unreadable("takes too long to parse", "too-large") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise Unreadable(
            f"cannot be parsed within {limits.worker_seconds} s and {limits.worker_bytes:,} bytes of memory", "too-large"
        ) from None
    if "unreadable" in answer:
        check, message = answer["unreadable"]
        raise Unreadable(message, check)
    return answer["content"]


def _cell(value: Any) -> Any:
    """A cell as JSON: dates and times as ISO text, a midnight stamp as its date."""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time(0) else value.isoformat(sep=" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, str):
        return value[:10_000]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def workbook(path: Path, limits: ReadLimits) -> dict[str, Any]:
    """`{"sheets": [[name, rows]], "empty_formulas": n}`: cached values of every sheet."""
    from python_calamine import CalamineWorkbook

    from finassay_checks.reading.archive import measure

    with open(path, "rb") as stream:
        zipped = stream.read(4) == b"PK\x03\x04"
    empty = measure(path, limits, sheets=True).empty_formulas if zipped else 0
    book = CalamineWorkbook.from_path(str(path))
    sheets, cells = [], 0
    for name in book.sheet_names[: limits.tables_per_file]:
        sheet = book.get_sheet_by_name(name)
        if sheet.total_width > limits.columns:
            raise Unreadable(f"has a sheet of more than {limits.columns:,} columns", "too-large")
        cells += sheet.total_width * sheet.total_height
        if cells > limits.workbook_cells:
            raise Unreadable(f"has more than {limits.workbook_cells:,} cells", "too-large")
        rows = [[None if value == "" else _cell(value) for value in row] for row in sheet.to_python(skip_empty_area=True)]
        sheets.append([name, rows])
    return {"sheets": sheets, "empty_formulas": empty}


def pdf(path: Path, limits: ReadLimits) -> dict[str, Any]:
    """`{"text": …}` of at most 200 pages."""
    import pypdf

    parts, size = [], 0
    with open(path, "rb") as stream:
        for page in list(pypdf.PdfReader(stream).pages)[:200]:
            text = page.extract_text() or ""
            size += len(text)
            parts.append(text)
            if size > limits.text_bytes:
                break
    return {"text": "\n\n".join(parts)[: limits.text_bytes]}


def main(argv: list[str]) -> int:
    kind, path, given = argv
    limits = ReadLimits(**json.loads(given))
    resource.setrlimit(resource.RLIMIT_AS, (limits.worker_bytes, limits.worker_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.worker_seconds, limits.worker_seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer: dict[str, Any] = {"content": {"workbook": workbook, "pdf": pdf}[kind](Path(path), limits)}
    except Unreadable as error:
        answer = {"unreadable": [error.check, str(error)]}
    except MemoryError:
        answer = {"unreadable": ["too-large", "does not fit into memory"]}
    except Exception as error:
        answer = {"unreadable": ["unreadable-file", f"cannot be parsed: {type(error).__name__}: {str(error)[:120]}"]}
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
