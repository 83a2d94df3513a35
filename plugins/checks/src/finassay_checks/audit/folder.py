"""A folder of files as a package without a session. Nothing is followed, opened as an archive, or run."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import Factory, frozen

from finassay.api.conversation import Conversation
from finassay.api.delivery import DeliveredFile, Delivery, Package, Rejected
from finassay.api.errors import InvalidFileError, UsageError
from finassay.api.strategy import Belief, Strategy, Universe
from finassay.api.task import Conditions, Task
from finassay_checks.sessions import timezone_of

NO_CUTOFF = date(2199, 12, 31)
MAX_FILES = 5_000
MAX_FILE = 512 * 2**20
MAX_STATED = 64 * 1024
_SUFFIXES = {
    "PA": "XPAR",
    "L": "XLON",
    "DE": "XETR",
    "AS": "XAMS",
    "BR": "XBRU",
    "MI": "XMIL",
    "MC": "XMAD",
    "SW": "XSWX",
    "ST": "XSTO",
    "HE": "XHEL",
    "CO": "XCSE",
    "OL": "XOSL",
    "VI": "XWBO",
    "T": "XTKS",
    "HK": "XHKG",
    "KS": "XKRX",
    "KQ": "XKRX",
    "SS": "XSHG",
    "SZ": "XSHG",
    "TO": "XTSE",
    "AX": "XASX",
    "NZ": "XNZE",
    "SI": "XSES",
    "NS": "XBOM",
    "BO": "XBOM",
    "SA": "BVMF",
    "JO": "XJSE",
    "LS": "XLIS",
    "IR": "XDUB",
    "WA": "XWAR",
    "TW": "XTAI",
    "F": "XFRA",
    "DU": "XDUS",
    "HM": "XHAM",
    "SG": "XSTU",
    "MX": "XMEX",
    "IS": "XIST",
    "TA": "XTAE",
    "BK": "XBKK",
    "JK": "XIDX",
    "KL": "XKLS",
    "AT": "ASEX",
    "PR": "XPRA",
    "BD": "XBUD",
    "IC": "XICE",
    "SN": "XSGO",
    "BA": "XBUE",
    "SR": "XSAU",
    "PS": "XPHS",
    "LM": "XLIM",
    "V": "XTSE",
    "CN": "XTSE",
    "NE": "XTSE",
}
"""Exchange of a ticker's suffix, as data vendors write it."""
_NAMES = {
    "NYSE": "XNYS",
    "NASDAQ": "XNYS",
    "XNAS": "XNYS",
    "AMEX": "XNYS",
    "US": "XNYS",
    "USA": "XNYS",
    "LSE": "XLON",
    "LONDON": "XLON",
    "UK": "XLON",
    "EURONEXT": "XPAR",
    "PARIS": "XPAR",
    "XETRA": "XETR",
    "FRANKFURT": "XFRA",
    "TSE": "XTKS",
    "TOKYO": "XTKS",
    "JPX": "XTKS",
    "HKEX": "XHKG",
    "HONGKONG": "XHKG",
    "KRX": "XKRX",
    "KOSPI": "XKRX",
    "SSE": "XSHG",
    "SHANGHAI": "XSHG",
    "SHENZHEN": "XSHG",
    "TSX": "XTSE",
    "TORONTO": "XTSE",
    "ASX": "XASX",
    "SIX": "XSWX",
    "NSE": "XBOM",
    "BSE": "XBOM",
    "CRYPTO": "24/7",
}
_ZONES = {
    "America/New_York": "XNYS",
    "Europe/Paris": "XPAR",
    "Europe/London": "XLON",
    "Europe/Berlin": "XETR",
    "Europe/Amsterdam": "XAMS",
    "Europe/Zurich": "XSWX",
    "Europe/Madrid": "XMAD",
    "Europe/Rome": "XMIL",
    "Europe/Stockholm": "XSTO",
    "Asia/Tokyo": "XTKS",
    "Asia/Hong_Kong": "XHKG",
    "Asia/Seoul": "XKRX",
    "Asia/Shanghai": "XSHG",
    "Asia/Kolkata": "XBOM",
    "Australia/Sydney": "XASX",
    "America/Toronto": "XTSE",
}


@frozen
class FileBlobs:
    """The folder's own files by content hash."""

    files: Mapping[str, Path]

    def path(self, sha256: str) -> Path:
        return self.files[sha256]


@frozen(eq=False)
class Folder:
    """An audited folder: the package, and what was stated about cutoff and market with where it was stated."""

    root: Path
    package: Package
    cutoff: date | None
    exchange: str
    exchange_from: str
    """`option`, a file that states it, `ticker suffix`, or `default`."""
    timezone: str
    stated: Mapping[str, str] = Factory(dict)


def open_folder(root: Path, cutoff: date | None = None, market: str | None = None) -> Folder:
    """Raises `UsageError` or `InvalidFileError` with one clear line for what cannot be audited."""
    if not root.exists():
        raise UsageError(f"{root} does not exist", hint="Give a folder of backtest files.")
    if not root.is_dir():
        raise UsageError(f"{root} is no folder", hint="Put the files to audit into a folder and give that.")
    files, rejected = _taken(root)
    if not files:
        raise UsageError(f"{root} holds no files to audit", hint="Nothing was found that may be read.")
    stated = _stated(root, files)
    wanted = cutoff or _cutoff(stated)
    exchange, source = _exchange(market, stated, root, files)
    timezone = stated.get("timezone") or _zone(exchange)
    delivered, paths = [], {}
    for name, path in files:
        digest = _digest(path)
        delivered.append(DeliveredFile(name, digest, path.stat().st_size))
        paths[digest] = path
    task = _task(wanted or NO_CUTOFF, exchange, timezone)
    package = Package(task, Conversation(), (Delivery(1, tuple(delivered), tuple(rejected)),), FileBlobs(paths))
    return Folder(root, package, wanted, exchange, source, timezone, stated)


def _task(cutoff: date, exchange: str, timezone: str) -> Task:
    conditions = Conditions(cutoff, Universe("basket", "", ()), (), exchange=exchange, timezone=timezone)
    return Task("audit", "", "", 0, "", Strategy("", "", 0, {}), Belief((), ()), conditions)


def _taken(root: Path) -> tuple[list[tuple[str, Path]], list[Rejected]]:
    files: list[tuple[str, Path]] = []
    rejected: list[Rejected] = []
    for path, name in _walk(root):
        try:
            state = path.lstat()
        except OSError:
            rejected.append(Rejected(name, "cannot be looked at"))
            continue
        if not stat.S_ISREG(state.st_mode):
            rejected.append(Rejected(name, "a link" if stat.S_ISLNK(state.st_mode) else "no regular file"))
        elif state.st_size > MAX_FILE:
            rejected.append(Rejected(name, f"larger than {MAX_FILE:,} bytes"))
        elif not os.access(path, os.R_OK):
            rejected.append(Rejected(name, "not readable"))
        elif len(files) >= MAX_FILES:
            rejected.append(Rejected(name, f"more than {MAX_FILES:,} files"))
            break
        else:
            files.append((name, path))
    return files, rejected


def _walk(root: Path) -> Iterator[tuple[Path, str]]:
    """Files below the folder in order of their names; hidden ones and links to folders are left out."""
    for folder, below, names in os.walk(root, followlinks=False):
        below[:] = sorted(d for d in below if not d.startswith(".") and not d.startswith("__"))
        here = Path(folder)
        for name in sorted(names):
            if not name.startswith("."):
                yield here / name, (here / name).relative_to(root).as_posix()


def _digest(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_CUTOFF_KEYS = ("data_cutoff", "cutoff", "cutoff_date", "data_until", "as_of_cutoff")
_ZONE_KEYS = ("exchange_timezone", "timezone", "tz", "time_zone")
_MARKET_KEYS = ("market", "exchange", "mic", "calendar", "exchange_code", "market_id")


def _stated(root: Path, files: list[tuple[str, Path]]) -> dict[str, str]:
    """Cutoff, time zone and market that small JSON files in the top folder state; `task.json` first."""
    found: dict[str, str] = {}
    names = [n for n, p in files if "/" not in n and n.lower().endswith(".json") and p.stat().st_size <= MAX_STATED]
    for name in sorted(names, key=lambda n: (n != "task.json", n)):
        try:
            content = json.loads((root / name).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            if name == "task.json":
                raise InvalidFileError(f"task.json cannot be read: {type(error).__name__}", hint="It holds one JSON object.") from None
            continue
        if not isinstance(content, dict):
            continue
        flat = {str(k).lower().replace("-", "_").replace(" ", "_"): v for k, v in content.items() if isinstance(v, str) and len(v) < 80}
        for what, keys in (("cutoff", _CUTOFF_KEYS), ("timezone", _ZONE_KEYS), ("market", _MARKET_KEYS)):
            value = next((flat[k].strip() for k in keys if k in flat), None)
            if value is None or what in found:
                continue
            if what == "timezone" and not _is_zone(value):
                if name == "task.json":
                    raise InvalidFileError(f"task.json: {value!r} is no time zone", hint="Write it as in America/New_York.")
                continue
            if what == "market" and name != "task.json" and exchange_code(value) is None:
                continue
            found[what], found[f"{what}_file"] = value, name
    return found


def _cutoff(stated: Mapping[str, str]) -> date | None:
    text = stated.get("cutoff")
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        if stated.get("cutoff_file") != "task.json":
            return None
        raise InvalidFileError(f"{stated.get('cutoff_file')}: {text!r} is no date", hint="Write it as YYYY-MM-DD.") from None


def exchange_code(name: str) -> str | None:
    """The calendar's code of an exchange named by code or name; None if no calendar is known."""
    wanted = name.strip().upper().replace(" ", "")
    wanted = _NAMES.get(wanted, wanted)
    return wanted if wanted in _calendars() else None


@lru_cache(maxsize=1)
def _calendars() -> frozenset[str]:
    import exchange_calendars

    return frozenset(exchange_calendars.get_calendar_names(include_aliases=False))


def _exchange(market: str | None, stated: Mapping[str, str], root: Path, files: list[tuple[str, Path]]) -> tuple[str, str]:
    for name, source in ((market, "option"), (stated.get("market"), stated.get("market_file", ""))):
        if name is None:
            continue
        code = exchange_code(name)
        if code is None:
            raise UsageError(f"no calendar of market {name!r} is known", hint="Give an ISO 10383 code such as XNYS, XLON or XTKS.")
        return code, source
    zone = stated.get("timezone")
    if zone in _ZONES:
        return _ZONES[zone], stated.get("timezone_file", "")
    return "XNYS", "default"


def of_suffix(tickers: "list[str]") -> str | None:
    """The one exchange that the tickers' suffixes name; None without a suffix or with several."""
    codes = {_SUFFIXES.get(t.rpartition(".")[2]) for t in tickers if "." in t}
    return next(iter(codes)) if len(codes) == 1 and all("." in t for t in tickers) else None


def _zone(exchange: str) -> str:
    """Time zone of an exchange; a calendar is computed only for those that are not listed here."""
    return next((zone for zone, code in _ZONES.items() if code == exchange), None) or timezone_of(exchange)


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return False
    return True


def with_exchange(folder: Folder, exchange: str, source: str) -> Folder:
    """The same folder on another exchange's calendar; its time zone too, where none is stated."""
    from attrs import evolve

    timezone = folder.stated.get("timezone") or _zone(exchange)
    task = _task(folder.cutoff or NO_CUTOFF, exchange, timezone)
    package = evolve(folder.package, task=task, facts={})
    return evolve(folder, package=package, exchange=exchange, exchange_from=source, timezone=timezone)


__all__: list[Any] = ["Folder", "exchange_code", "of_suffix", "open_folder", "with_exchange"]
