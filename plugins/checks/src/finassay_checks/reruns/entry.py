"""Which delivered scripts are run, in which order, and what they load (spec D.0.4 `late_use`, D.3 3.6)."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from attrs import frozen

from finassay_checks.model import Delivered, Document

MOST_SCRIPTS: Final = 5
MAX_SOURCE: Final = 1_000_000
"""Characters of a source file that are parsed; a longer one counts as a script that loads other data."""
PREFIXES: Final = ("run", "main", "make", "backtest")
_NUMERIC: Final = frozenset(
    [
        "numpy",
        "pandas",
        "scipy",
        "pyarrow",
        "matplotlib",
        "seaborn",
        "plotly",
        "openpyxl",
        "xlsxwriter",
        "cvxpy",
        "numba",
        "sklearn",
        "statsmodels",
        "quantstats",
        "empyrical",
        "tqdm",
        "tabulate",
        "dateutil",
        "pytz",
        "exchange_calendars",
        "pandas_market_calendars",
        "joblib",
        "polars",
        "vectorbt",
        "backtrader",
        "bt",
        "ffn",
        "zipline",
        "riskfolio",
        "skfolio",
        "pypfopt",
        "attr",
        "attrs",
        "pydantic",
        "docx",
        "reportlab",
        "jinja2",
        "markdown",
    ]
)
"""Packages that compute or draw: importing one loads no data, unless its name says so (`sklearn.datasets`)."""
_NET: Final = frozenset(["urllib", "requests", "httpx", "aiohttp", "socket", "http", "ftplib", "pkgutil"])
_LOADING_NAME = re.compile(r"^(?:datasets?|sampledata|resources)$|load_\w*(?:dataset|data|prices|index)|^find_spec$|^urlopen$")
_OUTSIDE = re.compile(r"^(?:/[A-Za-z]|~/|[A-Za-z]:\\|https?://)")
_STARTS = re.compile(r"subprocess|run_path|run_module|system|popen|exec|check_call|check_output")
_SAFE = re.compile(r"[A-Za-z0-9_./\-]+")


@frozen
class Entry:
    """A script that is started. `why` says why it was chosen; `loads` whether it, or a delivered module that it imports, loads data that
    were not delivered."""

    path: str
    why: str
    loads: bool


def entries(delivered: Delivered) -> tuple[Entry, ...]:
    """The scripts that are started, best first: at most five of `scripts`."""
    told = _told(delivered)
    found = _candidates(delivered)
    return tuple(Entry(d.where, _why(d.where, told), loads_other_data(d, found)) for d in scripts(delivered)[:MOST_SCRIPTS])


def scripts(delivered: Delivered) -> tuple[Document, ...]:
    """Current Python scripts: those that the report names first, then run*, main*, make*, backtest*, then others.

    Modules that only define things and are imported by others are no scripts: starting one yields nothing. Where every file is such a
    module, they stand for the code all the same.
    """
    found = _candidates(delivered)
    started = [d for d in found if not defines_only(d.text)] or found
    told = _told(delivered)

    def order(document: Document) -> tuple[int, int, int, str]:
        name = document.where.rsplit("/", 1)[-1]
        at = told.find(name)
        kind = next((i for i, prefix in enumerate(PREFIXES) if name.lower().startswith(prefix)), len(PREFIXES))
        return (0 if at >= 0 else 1, kind, at, document.where)

    return tuple(sorted(started, key=order))


def _candidates(delivered: Delivered) -> list[Document]:
    return [d for d in delivered.code if d.current and d.where.endswith(".py") and _SAFE.fullmatch(d.where)]


def _told(delivered: Delivered) -> str:
    return "\n".join(d.text for d in (*delivered.reports, *delivered.messages[-1:]))[:800_000]


def _why(path: str, told: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return "named in the report or the last message" if name in told else "by its name" if name.lower().startswith(PREFIXES) else "a script"


def defines_only(source: str) -> bool:
    """Whether a module, when started, would only define functions, classes and constants."""
    tree = _parsed(source)
    return tree is not None and bool(tree.body) and all(_defines(node, _own_names(tree)) for node in tree.body)


@lru_cache(maxsize=64)
def _parsed(source: str) -> ast.Module | None:
    if len(source) > MAX_SOURCE:
        return None
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _own_names(tree: ast.Module) -> frozenset[str]:
    return frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


_ACTS: Final = re.compile(r"^(?:read|load|run|save|to_|write|open|print|exec|main)")


def _defines(node: ast.stmt, own: frozenset[str]) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Pass):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not any(_acts(call, own) for call in ast.walk(node) if isinstance(call, ast.Call))
    if isinstance(node, ast.If):
        guard = ast.unparse(node.test)
        return "TYPE_CHECKING" in guard and all(_defines(n, own) for n in node.body)
    if isinstance(node, ast.Try):
        parts = [*node.body, *node.orelse, *(n for handler in node.handlers for n in handler.body)]
        return all(_defines(n, own) for n in parts)
    return False


def _acts(call: ast.Call, own: frozenset[str]) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in own or bool(_ACTS.match(name))


def loads_other_data(script: Document, code: Iterable[Document]) -> bool:
    """Whether a script, or delivered code that it reaches, loads something besides files beside it: a data package, a download, an
    absolute path. What cannot be parsed counts as loading."""
    by_path = {d.where: d for d in code}
    for path in (script.where, *reached_by(script, by_path)):
        tree = _parsed(by_path[path].text if path in by_path else script.text)
        if tree is None or _loads(tree, by_path):
            return True
    return False


def reached_by(script: Document, by_path: "dict[str, Document]") -> tuple[str, ...]:
    """Delivered code that runs when a script is started: what it imports or starts, and what that does; without the script itself."""
    pending, seen = [script], {script.where: script}
    while pending:
        tree = _parsed(pending.pop().text)
        for path in _reached(tree, by_path) if tree is not None else ():
            if path not in seen:
                seen[path] = by_path[path]
                pending.append(by_path[path])
    return tuple(path for path in seen if path != script.where)


def _modules(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """(dotted name, relative) of everything imported; names taken from a package count as its modules too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if base:
                yield base, node.level > 0
            yield from ((f"{base}.{alias.name}".lstrip("."), node.level > 0) for alias in node.names)


def _delivered(name: str, by_path: "dict[str, Document]") -> list[str]:
    stem = name.replace(".", "/")
    return [p for p in by_path if p in (f"{stem}.py", f"{stem}/__init__.py") or p.endswith((f"/{stem}.py", f"/{stem}/__init__.py"))]


def _reached(tree: ast.Module, by_path: "dict[str, Document]") -> Iterator[str]:
    for name, _ in _modules(tree):
        parts = name.split(".")
        for count in range(1, len(parts) + 1):  # a package's own file runs before its modules
            yield from _delivered(".".join(parts[:count]), by_path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _STARTS.search(ast.unparse(node.func)):  # started as a program of its own
            for told in ast.walk(node):
                if isinstance(told, ast.Constant) and isinstance(told.value, str) and told.value.endswith(".py"):
                    tail = told.value.rsplit("/", 1)[-1]
                    yield from (p for p in by_path if p == tail or p.endswith("/" + tail))


def _loads(tree: ast.Module, by_path: "dict[str, Document]") -> bool:
    for name, relative in _modules(tree):
        parts = name.split(".")
        if relative or _delivered(name, by_path) or _delivered(parts[0], by_path):
            continue
        if parts[0] in _NET or any(_LOADING_NAME.search(part) for part in parts):
            return True
        if parts[0] not in sys.stdlib_module_names and parts[0] not in _NUMERIC:
            return True
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.fullmatch(r"datasets|sampledata|find_spec|urlopen", node.attr):
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _OUTSIDE.match(node.value):
            return True
    return False
