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
from finassay_checks.reruns.entry import reached_by
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
    makers = tuple(m for code in delivered.code if name in code.text for m in package.fact(starters).get(code.where, ()))
    for call in earlier:
        if call.executes and (name in call.text or any(_starts(call, maker) for maker in makers)):
            return f"turn {call.turn}: a logged script made it"
    return ""


def starters(package: Package) -> Mapping[str, tuple[str, ...]]:
    """Each current code file to the scripts that run it: itself, and those that import or start it."""
    code = {d.where: d for d in package.fact(read_delivery).code}
    made = {path: [path] for path in code}
    for path, script in code.items():
        for reached in reached_by(script, code) if path.endswith(".py") else ():
            made[reached].append(path)
    return {path: tuple(scripts) for path, scripts in made.items()}


def _starts(call: Call, script: str) -> bool:
    """Whether a command names a script, as a file or as a module."""
    name = script.rpartition("/")[2]
    module = name.rsplit(".", 1)[0]
    return re.search(rf"(?<![\w]){re.escape(name)}|-m\s+[\w.]*\b{re.escape(module)}\b", call.text) is not None


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
    """Each current code file to how the log shows it being run, itself or by a script that imports it, in its delivered bytes with exit
    code 0; empty text if it does not."""
    made = package.fact(calls)
    current = {c.where for c in package.fact(read_delivery).code}
    return {
        f.path: _ran(f, made, package)
        for f in package.tree.files
        if f.path in current and suffix_of(f.path) in CODE - {".yaml", ".yml", ".toml", ".cfg", ".ini"}
    }


def _ran(file: DeliveredFile, made: tuple[Call, ...], package: Package) -> str:
    """A command that starts the file, or a script that reaches it, while the file held the delivered bytes: since the end of
    the turn before, or since a logged write of them."""
    name = file.path.rpartition("/")[2]
    scripts = package.fact(starters).get(file.path, (file.path,))
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
        if call.writes and _written(call, name):
            held = _written_hash(call) == file.sha256
        elif call.executes and call.exit_code == 0 and held and any(_starts(call, script) for script in scripts):
            return f"turn {call.turn}: run by '{call.name}' with exit code 0"
    return ""


def _writes_to(name: str, made: tuple[Call, ...], turn: int) -> bool:
    return any(c.turn == turn and c.writes and _written(c, name) for c in made)


def _given(call: Call) -> Mapping[str, object]:
    try:
        given = json.loads(call.text)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _written(call: Call, name: str) -> bool:
    """Whether a logged write goes to a file of that name: by the path that it gives, else by any mention."""
    path = next((v for k in ("path", "file_path", "filename", "notebook_path") if isinstance(v := _given(call).get(k), str)), None)
    return name in call.text if path is None else path.replace("\\", "/").rpartition("/")[2] == name


def _written_hash(call: Call) -> str:
    """Hash of the content that a logged write gives, empty if it does not give the whole content."""
    content = next((v for k in ("content", "file_text", "text", "contents") if isinstance(v := _given(call).get(k), str)), None)
    return hashlib.sha256(content.encode()).hexdigest() if content is not None else ""
