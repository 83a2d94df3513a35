"""Which version counts (spec D.0.1): what of a tree is superseded, and by which rule."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from finassay.api.delivery import Delivery

_MARKED = frozenset({"old", "archive", "archived", "previous", "superseded", "deprecated", "legacy", "backup"})
_VERSION_FOLDER = re.compile(r"(?:^|[_\-. ])v(?:er(?:sion)?)?[_\-. ]?(\d{1,4})(?=$|[_\-. ])", re.I)
_MARKED_NUMBER = re.compile(r"(?:^|[_\-. (])(?:v|ver|version|rev)[_\-. ]?(\d{1,3})\)?(?=$|[_\-. ])", re.I)
_BARE_NUMBER = re.compile(r"[_\-. ]*\(?(?<!\d)(\d{1,2})\)?$")
# `part_1.csv` and `part_2.csv` are pieces of one table, `report.md` and `report2.md` are versions: in tables only a `v` marks one.
_TABLE_SUFFIXES = frozenset({"csv", "tsv", "parquet", "json", "xlsx", "xls", "ods"})


def marked_folder(path: str) -> str | None:
    """The folder in a path that is named as an archive (`old`, `archive_v1`, `previous runs`), alone or joined to other words."""
    for folder in path.split("/")[:-1]:
        if _MARKED & set(re.split(r"[_\- ]+", folder.lower())):
            return folder
    return None


def version_folder(path: str) -> tuple[str, int] | None:
    """(folder path, number) of the outermost version folder: `v1`, `v2_runs`, `results_v3`."""
    folders = path.split("/")[:-1]
    for depth, folder in enumerate(folders, start=1):
        if match := _VERSION_FOLDER.search(folder):
            return "/".join(folders[:depth]), int(match[1])
    return None


def _by_folder(paths: Sequence[str], is_ledger: Callable[[str], bool]) -> dict[str, str]:
    found = {path: f"rule b: in the folder '{folder}'" for path in paths if (folder := marked_folder(path))}
    versioned = {path: version for path in paths if path not in found and (version := version_folder(path))}
    outside = any(is_ledger(path) for path in paths if path not in found and path not in versioned)
    newest = max((number for _, number in versioned.values()), default=0)
    for path, (folder, number) in versioned.items():
        if outside:
            found[path] = f"rule b: in the version folder '{folder}' while an equity table or a trade log stands outside"
        elif number < newest:
            found[path] = f"rule b: in the version folder '{folder}', and there is one with a higher number"
    return found


def _moved_aside(deliveries: Sequence[Delivery]) -> dict[str, str]:
    """Files whose bytes lay at another path in an earlier turn, where that path now holds other bytes."""
    tree = deliveries[-1]
    now = {file.path: file.sha256 for file in tree.files}
    found = {}
    for earlier in deliveries[:-1]:
        for file in earlier.files:
            if file.path in now and now[file.path] != file.sha256:
                for path, sha256 in now.items():
                    if sha256 == file.sha256 and path != file.path:
                        found[path] = f"rule c: the bytes lay at '{file.path}' in turn {earlier.turn}"
    return found


def _stem(path: str) -> tuple[str, int]:
    """(name without its version number, number) of a file name; a name without number has number 0."""
    folder, _, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    stem = stem if dot else name
    match = _MARKED_NUMBER.search(stem) or (None if suffix.lower() in _TABLE_SUFFIXES else _BARE_NUMBER.search(stem))
    if match is None:
        return f"{folder}/{stem}.{suffix}".lower(), 0
    base = (stem[: match.start()] + stem[match.end() :]).strip("_-. ()")
    return (f"{folder}/{base}.{suffix}".lower(), int(match[1])) if base else (path, 0)


def _by_number(deliveries: Sequence[Delivery], others: Mapping[str, str]) -> dict[str, str]:
    """Of files in one folder whose names differ only by a version number, all but the one that appeared or changed last."""
    groups: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for file in deliveries[-1].files:
        if file.path not in others:
            stem, number = _stem(file.path)
            groups[stem].append((file.path, number))
    found: dict[str, str] = {}
    for members in groups.values():
        if len(members) > 1:
            last = max(members, key=lambda member: (changed_in(deliveries, member[0]), member[1]))
            found |= {path: f"rule d: '{last[0]}' is a later version" for path, _ in members if path != last[0]}
    return found


def changed_in(deliveries: Sequence[Delivery], path: str) -> int:
    """The turn in which the file at a path got the bytes it has now; 0 if it is not there."""
    current = deliveries[-1].file(path) if deliveries else None
    if current is None:
        return 0
    turn = deliveries[-1].turn
    for delivery in reversed(deliveries):
        file = delivery.file(path)
        if file is None or file.sha256 != current.sha256:
            break
        turn = delivery.turn
    return turn


def superseded(deliveries: Sequence[Delivery], is_ledger: Callable[[str], bool]) -> dict[str, str]:
    """Paths of the last tree that are not current, with the rule that says so. `is_ledger` tells whether a file holds an equity
    table or a trade log.

    Rule (a), earlier bytes of a path and files no longer in the tree, needs no entry here: only the last tree is looked at.
    """
    if not deliveries:
        return {}
    paths = [file.path for file in deliveries[-1].files]
    found = _by_folder(paths, is_ledger)
    found = _moved_aside(deliveries) | found
    return _by_number(deliveries, found) | found
