"""From what a model says about a query to a reading of it: every span found by code, every id and every obligation looked at."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Literal

from attrs import define, field, frozen

from finassay_rubrics.bank.asking import Part
from finassay_rubrics.bank.sign import parts_from
from finassay_rubrics.bank.signature import ISSUERS, MAX_PARTS, PERIODS, checked, framed
from finassay_rubrics.bank.vocabulary import vocabulary
from finassay_rubrics.budget import MAX_OBLIGATIONS, Asked
from finassay_rubrics.context.bind import PREFIX
from finassay_rubrics.context.places import NoPlaceError, Place, Wanted, occurrences, placed
from finassay_rubrics.context.reading import Reading
from finassay_rubrics.metrics.table import table
from finassay_rubrics.roles.proposing import line
from finassay_rubrics.validate.context_rules import ARRAYS

DeliverableType = Literal["figure", "explain", "artefact"]
MAX_BINDINGS: Final = 60
"""In one array."""
MAX_SPANS: Final = 6
MAX_CANONICAL: Final = 200
EVERYWHERE: Final = ("entities", "periods")
"""Arrays of which every occurrence is bound: code adds those that were not named."""


@frozen
class _Bound:
    """An entry with its places found."""

    own: str
    """The id that the model gave it."""
    array: str
    places: tuple[Place, ...]
    canonical: str
    refers_to: tuple[str, ...]
    type: str = ""

    @property
    def start(self) -> int:
        return self.places[0][0]


def taken(query: str, seen: str, value: Mapping[str, Any]) -> tuple[Reading | None, list[str]]:
    """The reading in a model's reply, or what is wrong with the reply. `seen` is the query as it was shown: as long, character by character."""
    bindings = _Bindings(query, seen)
    for array in ARRAYS:
        entries = value["bindings"][array]
        if len(entries) > MAX_BINDINGS:
            bindings.problems.append(f"{array}: {len(entries)} entries; at most {MAX_BINDINGS} are read")
        for entry in entries[:MAX_BINDINGS]:
            bindings.take(array, entry)
    names = bindings.numbered()
    asked = _obligations(value["obligations"], bindings.found, names, bindings.problems)
    arrays = bindings.arrays(names)
    signature = _signature(query, arrays, value["signature"], bindings.problems) if not bindings.problems and asked else ""
    if bindings.problems:
        return None, bindings.problems
    return Reading(signature, arrays, tuple(asked)), []


# -- bindings ---------------------------------------------------------------------------------------------------------


@define
class _Bindings:
    """The entries that have their places."""

    query: str
    seen: str
    found: list[_Bound] = field(init=False, factory=list)
    problems: list[str] = field(init=False, factory=list)

    def take(self, array: str, entry: Mapping[str, Any]) -> None:
        own = line(entry["id"], 40)
        if not own or any(b.own == own for b in self.found):
            self.problems.append(f"{array}: the id {own!r} stands twice, or is none")
            return
        try:
            places = self._places(array, entry["spans"])
        except NoPlaceError as error:
            self.problems.append(f"{array}, {own}: {error}")
            return
        canonical = line(entry["canonical"], MAX_CANONICAL)
        if problem := _unknown(array, canonical):
            self.problems.append(f"{array}, {own}: {problem}")
        refers = tuple(line(r, 40) for r in entry["refers_to"][:MAX_BINDINGS])
        self.found.append(_Bound(own, array, places, canonical, refers, entry.get("type", "")))

    def _places(self, array: str, spans: Sequence[Mapping[str, Any]]) -> tuple[Place, ...]:
        """Raises `NoPlaceError`."""
        if not 1 <= len(spans) <= MAX_SPANS:
            raise NoPlaceError(f"has {len(spans)} spans; 1 to {MAX_SPANS} are expected")
        bound = {b.places for b in self.found if b.array == array}
        places: list[Place] = []
        for span in spans:
            if span["occurrence"] < 0:
                raise NoPlaceError("an occurrence is counted from 1; 0 leaves it open")
            alone = len(spans) == 1 and array != "convention_topics"  # one span may be open in several ways
            lone = {p[0] for p in bound if len(p) == 1} if alone else set()
            wanted = Wanted(str(span["text"]), int(span["occurrence"]))
            places.append(placed(self.seen, wanted, lone, places[-1][1] if places else 0))
        if any(a[1] > b[0] for a, b in pairwise(places)):
            raise NoPlaceError("its spans do not stand one after the other")
        same = [b for b in self.found if b.array == array and b.places == tuple(places)]
        if same and array != "convention_topics":
            raise NoPlaceError(f"binds the same place as {same[0].own}")
        return tuple(places)

    def numbered(self) -> dict[str, str]:
        """Ids in order of place, by the model's own; entities and periods that stand elsewhere as well are bound there, too."""
        for one in [b for b in self.found if b.array in EVERYWHERE and len(b.places) == 1]:
            for place in occurrences(self.seen, self.seen[slice(*one.places[0])]):
                if not any(b.array == one.array and _meet(b.places, place) for b in self.found):
                    self.found.append(_Bound(f"{one.own}@{place[0]}", one.array, (place,), one.canonical, one.refers_to))
        self.found.sort(key=lambda b: (ARRAYS.index(b.array), b.places, b.own))
        names: dict[str, str] = {}
        for array in ARRAYS:
            for number, one in enumerate((b for b in self.found if b.array == array), start=1):
                names[one.own] = f"{PREFIX[array]}{number}"
        self.problems += [f"{b.own} refers to {r!r}, which there is not" for b in self.found for r in b.refers_to if r not in names]
        return names

    def arrays(self, names: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
        return {array: [self._stored(b, names) for b in self.found if b.array == array] for array in ARRAYS}

    def _stored(self, one: _Bound, names: Mapping[str, str]) -> dict[str, Any]:
        pieces = [{"span": self.query[a:b], "start": a, "end": b} for a, b in one.places]
        return {
            "id": names[one.own],
            "span": " … ".join(str(p["span"]) for p in pieces),
            "start": one.places[0][0],
            "end": one.places[-1][1],
            **({"parts": pieces} if len(pieces) > 1 else {}),
            **({"canonical": one.canonical} if one.canonical else {}),
            **({"type": one.type} if one.type else {}),
            **({"refers_to": [names[r] for r in one.refers_to if r in names]} if one.refers_to else {}),
        }


def _meet(places: Sequence[Place], place: Place) -> bool:
    return any(a < place[1] and place[0] < b for a, b in places)


def _unknown(array: str, canonical: str) -> str:
    """What is wrong with a standard form that has to be of a closed list."""
    if array == "metrics" and (wrong := checked([Part("report", canonical or "none")])):
        return f"{wrong[0]}; an id of the list, `other`, or `other:` and a noun of the list is expected"
    if array == "convention_topics" and canonical != "other" and canonical not in vocabulary().topics:
        return f"no convention {canonical!r}; an id of the list or `other` is expected"
    return ""


# -- obligations ------------------------------------------------------------------------------------------------------


def _obligations(
    entries: Sequence[Mapping[str, Any]], found: Sequence[_Bound], names: Mapping[str, str], problems: list[str]
) -> list[Asked]:
    """What is asked, in order of place. Each metric and each deliverable that is more than a verb belongs to exactly one."""
    by_own = {b.own: b for b in found}
    if len(entries) > MAX_OBLIGATIONS:
        problems.append(f"{len(entries)} obligations; at most {MAX_OBLIGATIONS} fit into one rubric")
        return []
    owners: dict[str, int] = {}
    asked: list[tuple[int, str, tuple[str, ...]]] = []
    for number, entry in enumerate(entries, start=1):
        mine = [by_own[o] for o in dict.fromkeys(line(b, 40) for b in entry["bindings"]) if o in by_own]
        problems += [f"obligation number {number} names {b!r}, which is not bound" for b in entry["bindings"] if line(b, 40) not in by_own]
        bearing = [b for b in mine if b.array in ("metrics", "deliverables")]
        if not bearing:
            problems.append(f"obligation number {number} stands on no metric and no deliverable")
            continue
        for one in filter(_counted, bearing):
            if one.own in owners:
                problems.append(f"{one.own} belongs to the obligations number {owners[one.own]} and {number}; it belongs to exactly one")
            owners[one.own] = number
        spans = tuple(names[b.own] for b in sorted(mine, key=lambda b: not _counted(b)))
        first = min(b.start for b in (list(filter(_counted, bearing)) or bearing))
        asked.append((first, line(entry["what"], 200) or names[bearing[0].own], spans))
    problems += [f"{b.own} belongs to no obligation" for b in found if _counted(b) and b.own not in owners and asked]
    problems += list(_twice(asked, found, names))
    return [Asked(f"O{n}", what, spans, start) for n, (start, what, spans) in enumerate(sorted(asked), start=1)]


def _counted(one: _Bound) -> bool:
    """What belongs to exactly one obligation: a metric, or a deliverable that is more than the verb before a metric."""
    return one.array == "metrics" or (one.array == "deliverables" and one.type != "figure")


def _twice(asked: Sequence[tuple[int, str, tuple[str, ...]]], found: Sequence[_Bound], names: Mapping[str, str]) -> Iterator[str]:
    """Obligations that ask for the same figures of the same metric and of nothing else: one, however often it is named."""
    by_name = {names[b.own]: b for b in found}
    seen: dict[tuple[str, ...], str] = {}
    for _, what, spans in asked:
        mine = [by_name[s] for s in spans if by_name[s].array in ("metrics", "deliverables")]
        metrics = tuple(sorted({b.canonical for b in mine if b.array == "metrics"}))
        if any(b.array == "deliverables" for b in mine) or not metrics or any(m not in table().metrics for m in metrics):
            continue
        if metrics in seen:
            yield f"the obligations {seen[metrics]!r} and {what!r} ask for one metric ({', '.join(metrics)}): they are one"
        seen.setdefault(metrics, what)


# -- the signature ----------------------------------------------------------------------------------------------------


def _signature(query: str, arrays: Mapping[str, Sequence[Mapping[str, Any]]], said: Mapping[str, Any], problems: list[str]) -> str:
    """The signature in its canonical line; conventions and frame follow from the bindings."""
    parts = parts_from(said["parts"])
    if not 1 <= len(parts) <= MAX_PARTS:
        problems.append(f"the signature has {len(parts)} parts; 1 to {MAX_PARTS} are expected")
    problems += [f"the signature names {wrong}" for wrong in checked(parts)]
    bound = {str(b["canonical"]) for b in arrays["metrics"]}
    named = {p.metric for p in parts if p.metric and not p.metric.startswith("other")}
    problems += [
        f"the signature has no part for the metric {m}" for m in sorted(bound - {p.metric for p in parts}) if not m.startswith("other")
    ]
    problems += [f"the signature names the metric {m}, which is not bound" for m in sorted(named - bound)]
    issuers, periods = ISSUERS.index(str(said["issuers"])), PERIODS.index(str(said["periods"]))
    for what, array, number in (("issuers", "entities", issuers), ("periods", "periods", periods)):
        if bool(arrays[array]) != bool(number):
            problems.append(f"the signature says {said[what]!r}, and {len(arrays[array])} {array} are bound")
    return framed(query, arrays, parts, issuers, periods).text
