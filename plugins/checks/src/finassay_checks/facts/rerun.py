"""Delivered code run twice, on its data as they are and on data cut at the cutoff, for `late_use`."""

import io
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, Document
from finassay_checks.roles.cells import to_numbers

SECONDS = 120.0
MAX_SCRIPTS = 2
TESTED = ("signals", "weights", "trades", "equity")
# Code that loads something besides its own files: a data package, a download, an absolute path.
_LOADS = re.compile(
    r"\bdatasets?\b|sampledata|load_[a-z0-9_]*(?:dataset|data|prices|index)|yfinance|importlib\.resources|pkgutil|requests\.|urlopen|pandas_datareader|find_spec|[\"']/[A-Za-z]"
)
_ENTRY = re.compile(r"(?:^|/)(?:run|main|make|backtest)[^/]*\.py$")
_CUT = """
import runpy, sys
import pandas as _pd
_LAST = _pd.Timestamp("{cutoff}")
def _cut(frame):
    if not isinstance(frame, (_pd.DataFrame, _pd.Series)) or not len(frame):
        return frame
    labels = frame.index
    if isinstance(labels, _pd.DatetimeIndex):
        naive = labels.tz_localize(None) if labels.tz is not None else labels
        return frame[naive <= _LAST + _pd.Timedelta(hours=23, minutes=59)]
    if isinstance(frame, _pd.Series):
        return frame
    for column in list(frame.columns)[:3]:
        if frame[column].dtype == object or str(frame[column].dtype) in ("str", "string") or "datetime" in str(frame[column].dtype):
            dates = _pd.to_datetime(frame[column], errors="coerce", utc=True).dt.tz_localize(None)
            if dates.notna().mean() > 0.95:
                return frame[(dates <= _LAST + _pd.Timedelta(hours=23, minutes=59)).to_numpy()]
    if labels.dtype == object or str(labels.dtype) in ("str", "string"):
        dates = _pd.to_datetime(_pd.Series(labels), errors="coerce", utc=True).dt.tz_localize(None)
        if dates.notna().mean() > 0.95:
            return frame[(dates <= _LAST + _pd.Timedelta(hours=23, minutes=59)).to_numpy()]
    return frame
def _wrapped(reader):
    def read(*args, **kwargs):
        return _cut(reader(*args, **kwargs))
    return read
for _name in ("read_csv", "read_parquet", "read_json", "read_excel", "read_feather", "read_table"):
    setattr(_pd, _name, _wrapped(getattr(_pd, _name)))
sys.argv = ["{script}"]
sys.path.insert(0, "{folder}")
runpy.run_path("{script}", run_name="__main__")
"""
_CUT_NAME = "_cut_at_cutoff_.py"


@frozen
class CutRuns:
    """`reproduced_only_uncut` names delivered tables that the run on uncut data reproduces and the one on cut data does not."""

    status: str
    script: str = ""
    reproduced_only_uncut: tuple[str, ...] = ()


def cut_runs(package: Package) -> CutRuns:
    """Run at most two entry scripts, each twice. Needs `package.runner`; code that reads nothing but delivered files is not run."""
    delivered = package.fact(read_delivery)
    scripts = [d for d in delivered.code if d.where.endswith(".py")]
    if not scripts:
        return CutRuns("no code to rerun")
    if not any(_LOADS.search(d.text) for d in scripts):
        return CutRuns("the code reads delivered files only, so that the delivered rows tell")
    safe = [d for d in scripts if _safe(d.where)]
    named = [d for d in safe if _ENTRY.search(d.where)] or safe
    entries = sorted(named, key=lambda d: (not _named(d, delivered), d.where))[:MAX_SCRIPTS]
    for entry in entries:
        found = _twice(package, delivered, entry)
        if found is not None:
            return found
    return CutRuns("the code did not reproduce a delivered table when rerun")


def _safe(path: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_./\-]+", path) is not None


def _named(entry: Document, delivered: Delivered) -> bool:
    return any(entry.where.rpartition("/")[2] in document.text for document in delivered.reports)


def _twice(package: Package, delivered: Delivered, entry: Document) -> CutRuns | None:
    runner = package.runner
    assert runner is not None
    files = {file.path: package.path(file) for file in package.tree.files}
    targets = {c.chosen.table.path for role in TESTED if (c := delivered.choices[role]).chosen is not None}  # type: ignore[index]
    as_is = runner.run(files, ("{python}", entry.where), seconds=SECONDS)
    kept = {
        path: as_is.written[path].read_bytes()
        for path in targets
        if path in as_is.written and as_is.written[path].stat().st_size < 200 * 2**20
    }
    same = {path for path, data in kept.items() if _same_table(path, data, files[path].read_bytes())}
    return _compare_cut(package, entry, files, same) if same else None


def _compare_cut(package: Package, entry: Document, files: Mapping[str, Path], same: set[str]) -> CutRuns:
    import tempfile

    runner = package.runner
    assert runner is not None
    script = _CUT.format(cutoff=package.cutoff.isoformat(), script=entry.where, folder=entry.where.rpartition("/")[0] or ".")
    with tempfile.TemporaryDirectory() as folder:
        wrapper = Path(folder) / _CUT_NAME
        wrapper.write_text(script)
        cut = runner.run({**files, _CUT_NAME: wrapper}, ("{python}", _CUT_NAME), seconds=SECONDS)
        differing = tuple(
            sorted(
                path
                for path in same
                if path in cut.written and not _same_table(path, cut.written[path].read_bytes(), files[path].read_bytes())
            )
        )
    if cut.exit_code != 0 and not differing:
        return CutRuns("the code ran on the data as they are; on cut data it did not end well, so that late use is not tested", entry.where)
    if differing:
        return CutRuns("rerun on cut data", entry.where, differing)
    return CutRuns("code rerun: cutting its data at the cutoff changes no delivered table", entry.where)


def _same_table(path: str, one: bytes, other: bytes) -> bool:
    """Equal bytes, or equal CSV tables up to 1e-6 relative."""
    if one == other:
        return True
    if not path.endswith((".csv", ".tsv")):
        return False
    try:
        left, right = (pd.read_csv(io.BytesIO(data), sep="\t" if path.endswith(".tsv") else ",") for data in (one, other))
    except (ValueError, OSError):
        return False
    if left.shape != right.shape or list(left.columns) != list(right.columns):
        return False
    for column in left.columns:
        a, b = to_numbers(left[column]), to_numbers(right[column])
        if not np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True):
            return False
        texts = a.isna() & b.isna()
        if not (left.loc[texts, column].astype(str).to_numpy() == right.loc[texts, column].astype(str).to_numpy()).all():
            return False
    return True
