"""Blind preference: two rubrics of one query side by side, without a word of where they come from; experts choose, and only then is it told.

An export is a folder for the experts and a key beside it, which stays with whoever measures. The folder holds the digest of the key, the key the
digests of the folder's pages: whoever changes one of them later, or swaps sides, is found before anything is counted.
"""

import csv
import hashlib
import hmac
import io
import json
import random
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.errors import InvalidFileError, UsageError
from finassay.records.files import read_json, write_atomically, write_json
from finassay_rubrics.measure.material import table
from finassay_rubrics.measure.statistics import Interval, with_interval
from finassay_rubrics.record.reading import content_digest
from finassay_rubrics.record.rubric import Rubric

SCHEMA: Final = "blind-preference/1"
FORM: Final = "preference.csv"
PAGE: Final = "preference.html"
MANIFEST: Final = "manifest.json"
COLUMNS: Final = ("item", "check", "query", "choice", "reason", "rater")
CHOICES: Final = {"left": "left", "l": "left", "right": "right", "r": "right", "tie": "tie", "equal": "tie", "both": "tie"}
MAX_PAIRS: Final = 2_000
_FORMULA: Final = ("=", "+", "-", "@")


@frozen
class Pair:
    """Two rubrics of one query."""

    first: Rubric
    second: Rubric


@frozen
class Item:
    """One pair as it is shown."""

    id: str
    left: Rubric
    right: Rubric
    first_is_left: bool


def paired(first: Sequence[Rubric], second: Sequence[Rubric]) -> list[Pair]:
    """Rubrics of the same query, by its words. Raises `UsageError` where there are none."""
    others = {_plain(rubric.query): rubric for rubric in second}
    found = [Pair(rubric, others[_plain(rubric.query)]) for rubric in first if _plain(rubric.query) in others]
    if len(first) == len(second) == 1 and not found:
        raise UsageError("the two rubrics are of different queries")
    if not 0 < len(found) <= MAX_PAIRS:
        raise UsageError(f"{len(found)} queries have a rubric on both sides", hint=f"1 to {MAX_PAIRS} can be compared.")
    return found


def _plain(query: str) -> str:
    return " ".join(query.split()).casefold()


# -- export -----------------------------------------------------------------------------------------------------------


def export(pairs: Sequence[Pair], names: tuple[str, str], folder: Path, key: Path, seed: str | None = None) -> list[Item]:
    """Writes the folder and the key. Sides are balanced: as many pairs show the first on the left as on the right, give or take one.

    Without a seed one is drawn, so that nobody who has this program can guess the sides. Raises `UsageError` where either exists.
    """
    if key.exists() or (folder.exists() and any(folder.iterdir())):
        raise UsageError(f"{key if key.exists() else folder} exists", hint="What was handed to experts is not written over.")
    if folder.resolve() in key.resolve().parents:
        raise UsageError(f"{key} lies in the experts' folder", hint="Keep the key elsewhere; the folder is what experts are given.")
    seed = secrets.token_hex(16) if seed is None else seed
    items = _shuffled(pairs, seed)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / PAGE, _page(items).encode())
    write_atomically(folder / FORM, _form(items).encode())
    data = {
        "schema": SCHEMA,
        "nonce": secrets.token_hex(16),
        "seed": seed,
        "names": list(names),
        "page": _digest((folder / PAGE).read_bytes()),
        "items": [_key_item(item) for item in items],
    }
    write_json(key, data, mode=0o600)
    write_json(folder / MANIFEST, {"schema": SCHEMA, "items": len(items), "page": data["page"], "key": _digest(_canonical(data))})
    return items


def _shuffled(pairs: Sequence[Pair], seed: str) -> list[Item]:
    draw = random.Random(seed)
    order = list(pairs)
    draw.shuffle(order)
    sides = [number % 2 == 0 for number in range(len(order))]
    draw.shuffle(sides)
    if len(order) == 1:
        sides = [draw.random() < 0.5]
    return [
        Item(f"P{number:03}", *((pair.first, pair.second) if first else (pair.second, pair.first)), first)
        for number, (pair, first) in enumerate(zip(order, sides, strict=True), start=1)
    ]


def _key_item(item: Item) -> dict[str, Any]:
    return {
        "item": item.id,
        "check": _check(item),
        "query": item.left.query,
        "left": "first" if item.first_is_left else "second",
        "left_digest": content_digest(item.left),
        "right_digest": content_digest(item.right),
    }


def _check(item: Item) -> str:
    """Ties a row of the form to what its page shows."""
    return _digest(_canonical([item.id, _shown(item.left), _shown(item.right)]))[:12]


def _form(items: Sequence[Item]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in items:
        query = " ".join(item.left.query.split())[:160]
        # A table program would compute what begins like a formula.
        writer.writerow([item.id, _check(item), f"'{query}" if query.startswith(_FORMULA) else query, "", "", ""])
    return out.getvalue()


def _shown(rubric: Rubric) -> list[dict[str, Any]]:
    """Criteria as experts see them: text, accepted values, points, must-pass. No ids, sources, reviews or names: they tell the origin."""
    from finassay_rubrics.pages.render import value_of, visible

    shown = []
    for criterion in rubric.criteria:
        if criterion.kind == "prohibited" and not criterion.points and criterion.polarity == "negative":
            continue  # what repeats a whole answer as a fault is known by its shape
        told = [route for route in criterion.expected if isinstance(route.value, Decimal) or str(route.value) != criterion.text]
        values = [value_of(route) for route in told if criterion.kind != "prohibited"]
        shown.append(
            {
                "text": visible(criterion.text),
                "values": list(dict.fromkeys(values)),
                "points": f"{criterion.points:.2f}",
                "must_pass": criterion.gate == "must_pass",
                "open": criterion.status == "unresolved",
            }
        )
    return shown


def _page(items: Sequence[Item]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from finassay_rubrics.pages.render import visible

    made = Environment(
        loader=PackageLoader("finassay_rubrics.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    rows = [
        {"id": item.id, "query": visible(item.left.query), "sides": [("left", _shown(item.left)), ("right", _shown(item.right))]}
        for item in items
    ]
    return made.get_template("blind.html.j2").render(items=rows, form=FORM)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _canonical(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


# -- import -----------------------------------------------------------------------------------------------------------


@frozen
class Choice:
    """What one person said of one pair."""

    item: str
    query: str
    rater: str
    said: str
    """`left`, `right`, `tie`."""
    first: float
    """1 where the first was preferred, 0 where the second, 0.5 for a tie."""


def read_choices(folder: Path, key: Path, forms: Sequence[Path]) -> tuple[tuple[str, str], list[Choice], int]:
    """The two names, the choices, and how many rows were left empty. Raises `InvalidFileError` for whatever was changed on the way."""
    data = _checked(folder, key)
    items = {str(one["item"]): one for one in data["items"]}
    choices: list[Choice] = []
    empty = 0
    seen: set[tuple[str, str]] = set()
    for path in forms:
        for number, row in enumerate(table(path, ("item", "check", "choice")), start=1):
            where = f"{path}: row {number}"
            one = items.get(str(row["item"]).strip())
            if one is None:
                raise InvalidFileError(f"{where}: there is no item {str(row['item'])[:40]!r}")
            if str(row["check"]).strip() != one["check"]:
                raise InvalidFileError(f"{where}: the check of {one['item']} is another one: rows were mixed up, or it is another export")
            said = str(row["choice"] or "").strip().lower()
            if not said:
                empty += 1
                continue
            if said not in CHOICES:
                raise InvalidFileError(f"{where}: choice {said[:40]!r}: expected left, right or tie")
            rater = str(row.get("rater") or "").strip() or path.stem
            if (one["item"], rater) in seen:
                raise InvalidFileError(f"{where}: {rater} judges {one['item']} twice")
            seen.add((one["item"], rater))
            choices.append(_choice(one, rater, CHOICES[said]))
    names = (str(data["names"][0]), str(data["names"][1]))
    return names, choices, empty


def _choice(one: Mapping[str, Any], rater: str, said: str) -> Choice:
    first = 0.5 if said == "tie" else float((said == "left") == (one["left"] == "first"))
    return Choice(str(one["item"]), str(one["query"]), rater, said, first)


def _checked(folder: Path, key: Path) -> dict[str, Any]:
    """The key, once folder and key are what was exported."""
    manifest = read_json(folder / MANIFEST, "the manifest of an export")
    data: Any = read_json(key, "the key of an export")
    for path, one in ((folder / MANIFEST, manifest), (key, data)):
        if not isinstance(one, dict) or one.get("schema") != SCHEMA:
            raise InvalidFileError(f"{path}: not of {SCHEMA}")
    if not hmac.compare_digest(str(manifest.get("key")), _digest(_canonical(data))):
        raise InvalidFileError(f"{key}: is not the key that {folder} was exported with, or was changed since")
    try:
        page = _digest((folder / PAGE).read_bytes())
    except OSError as error:
        raise InvalidFileError(f"{folder / PAGE}: cannot be read: {error.strerror}") from error
    if page != data.get("page"):
        raise InvalidFileError(f"{folder / PAGE}: is not the page that was exported: experts may have seen something else")
    return dict(data)


@frozen
class Preference:
    """What was preferred."""

    judged: int
    wins: int
    ties: int
    losses: int
    win_rate: Interval
    """Of the first, ties half; the interval draws whole queries."""
    sign_test: float | None
    """Two-sided p of wins among the choices that are no ties; None without any."""
    left_share: float | None
    """Of the choices that are no ties, those of the left side: far from a half tells of a habit, not of rubrics."""
    agreement: float | None
    """Share of pairs of raters that choose alike on one item; None without two on any."""
    by_rater: Mapping[str, tuple[int, float]]


def preference(choices: Sequence[Choice]) -> Preference:
    """Counts and win rate. Raises `InvalidFileError` without a choice."""
    from scipy.stats import binomtest

    rate = with_interval(choices, lambda own: sum(c.first for c in own) / len(own) if own else None, lambda c: c.query)
    if rate is None:
        raise InvalidFileError("nobody chose anything")
    wins, ties = sum(c.first == 1 for c in choices), sum(c.said == "tie" for c in choices)
    decided = len(choices) - ties
    raters = {name: [c.first for c in choices if c.rater == name] for name in sorted({c.rater for c in choices})}
    alike = [one == two for one, two in _both(choices)]
    return Preference(
        len(choices),
        wins,
        ties,
        decided - wins,
        rate,
        float(binomtest(wins, decided).pvalue) if decided else None,
        sum(c.said == "left" for c in choices) / decided if decided else None,
        sum(alike) / len(alike) if alike else None,
        {name: (len(own), sum(own) / len(own)) for name, own in raters.items()},
    )


def _both(choices: Sequence[Choice]) -> Iterator[tuple[str, str]]:
    for item in Counter(c.item for c in choices):
        said = [c.said for c in choices if c.item == item]
        yield from ((one, two) for number, one in enumerate(said) for two in said[number + 1 :])
