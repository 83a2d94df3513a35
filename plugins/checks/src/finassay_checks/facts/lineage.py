"""Where delivered data and code show up in the log (7.2, 7.3)."""

import hashlib
import json
import re
from collections.abc import Mapping

import numpy as np

from finassay.api.delivery import DeliveredFile, Package
from finassay_checks.delivered import read_delivery
from finassay_checks.facts.log import Call, calls
from finassay_checks.model import Delivered, RoleTable
from finassay_checks.reading.files import CODE, suffix_of
from finassay_checks.versions import changed_in

_DATA_ROLES = ("prices", "fundamentals", "events", "benchmark")
_SAMPLE = 200


def lineage(package: Package) -> Mapping[str, str]:
    """Each current data table to how the log shows its fetch, empty text if it does not."""
    delivered = package.fact(read_delivery)
    made = package.fact(calls)
    own = {r.table.where for r in delivered.role_tables if r.role == "equity"}
    tables = {
        r.table.where: r
        for r in delivered.role_tables
        if r.role in _DATA_ROLES and r.table.current and r.table.where not in own and suffix_of(r.table.path) not in ("", ".md", ".html")
    }
    return {where: _shown(candidate, made, package, delivered) for where, candidate in tables.items()}


def _shown(candidate: RoleTable, made: tuple[Call, ...], package: Package, delivered: Delivered) -> str:
    turn = changed_in(package.deliveries, candidate.table.path)
    earlier = [c for c in made if c.succeeded and c.turn <= max(turn, 1)]
    for call in earlier:
        if call.fetches and call.output and _rows_in(candidate, call.output) >= 0.95:
            return f"turn {call.turn}: the result of '{call.name}' holds its rows"
    name = candidate.table.path.rpartition("/")[2]
    for call in earlier:
        if call.executes and (
            name in call.text or any(name in code.text and code.where.rpartition("/")[2] in call.text for code in delivered.code)
        ):
            return f"turn {call.turn}: a logged script made it"
    return ""


def _rows_in(candidate: RoleTable, output: str) -> float:
    """Share of (at most 200) rows whose date and value both stand in one line of an output."""
    frame = candidate.frame
    if "date" not in frame or not len(frame):
        return 0.0
    value = "close" if "close" in frame else "equity" if "equity" in frame else "value" if "value" in frame else None
    if value is None:
        return 0.0
    lines: dict[str, list[str]] = {}
    for line in output.splitlines()[:100_000]:
        if match := re.search(r"(?:19|20)\d{2}-\d{2}-\d{2}", line):
            lines.setdefault(match[0], []).append(line)
    sample = frame.iloc[np.unique(np.linspace(0, len(frame) - 1, min(len(frame), _SAMPLE)).astype(int))]
    hits = sum(
        any(f"{v:g}" in line or f"{v:.2f}" in line for line in lines.get(str(d.date()), ()))
        for d, v in zip(sample["date"], sample[value], strict=True)
    )
    return hits / len(sample)


def executed(package: Package) -> Mapping[str, str]:
    """Each current code file to how the log shows it being run in its delivered bytes with exit code 0, empty text if it does not."""
    made = package.fact(calls)
    current = {c.where for c in package.fact(read_delivery).code}
    return {
        f.path: _ran(f, made, package)
        for f in package.tree.files
        if f.path in current and suffix_of(f.path) in CODE - {".yaml", ".yml", ".toml", ".cfg", ".ini"}
    }


def _ran(file: DeliveredFile, made: tuple[Call, ...], package: Package) -> str:
    """A command that names the file, while the file held the delivered bytes: since the end of the turn before, or since a logged
    write of them."""
    name = file.path.rpartition("/")[2]
    module = name.rsplit(".", 1)[0]
    held = False
    turn_seen = 0
    for call in made:
        if call.turn != turn_seen:
            turn_seen = call.turn
            before = next((d for d in reversed(package.deliveries) if d.turn < call.turn), None)
            old = before.file(file.path) if before is not None else None
            after = next((d for d in package.deliveries if d.turn == call.turn), None)
            new = after.file(file.path) if after is not None else None
            held = (old is not None and old.sha256 == file.sha256) or (
                new is not None and new.sha256 == file.sha256 and not _writes_to(name, made, call.turn)
            )
        if call.writes and name in call.text:
            held = _written_hash(call.text) == file.sha256
        elif (
            call.executes
            and call.exit_code == 0
            and held
            and re.search(rf"(?<![\w]){re.escape(name)}|-m\s+[\w.]*\b{re.escape(module)}\b", call.text)
        ):
            return f"turn {call.turn}: run by '{call.name}' with exit code 0"
    return ""


def _writes_to(name: str, made: tuple[Call, ...], turn: int) -> bool:
    return any(c.turn == turn and c.writes and name in c.text for c in made)


def _written_hash(text: str) -> str:
    """Hash of the content that a logged write gives, empty if it does not give the whole content."""
    try:
        given = json.loads(text)
    except ValueError:
        return ""
    content = (
        next((given[k] for k in ("content", "file_text", "text", "contents") if isinstance(given.get(k), str)), None)
        if isinstance(given, dict)
        else None
    )
    return hashlib.sha256(content.encode()).hexdigest() if content is not None else ""
