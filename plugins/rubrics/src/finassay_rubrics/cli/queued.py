"""How the queue is shown: what waits, one item with everything that is known of it, and how to decide it."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import click

from finassay_rubrics.budget import bears_points
from finassay_rubrics.generate.decisions import WHOLE, Decision, decided_items, items_of, said_of
from finassay_rubrics.generate.folder import RubricFolder
from finassay_rubrics.generate.waiting import how
from finassay_rubrics.pages.render import review_in_words, value_of, visible
from finassay_rubrics.record.rubric import Criterion, Evidence, Rubric

MAX_LINE = 500


def listed(folder: RubricFolder, *, as_json: bool) -> None:
    """Every item with its name, whether it is decided, and why it waits."""
    entries = folder.queued()
    if as_json:
        told = [
            {**one, "decided": decision.model_dump(mode="json", exclude_defaults=True) if (decision := _word(folder, one)) else None}
            for one in entries
        ]
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    for one in entries:
        said, about = _word(folder, one), _line(str(one.get("obligation", "the whole rubric")), 120)
        points = f" [{one['points']} points]" if "points" in one else ""
        click.echo(f"{one['item']}{f' ({said.decision} by {visible(said.by)})' if said else ''}: {about}{points}")
        for why in one.get("why", ()):
            click.echo(f"    {_line(str(why))}")
    for item in decided_items(folder):
        if wrong := said_of(folder, item).wrong:
            click.echo(_line(wrong, 600))
    open_ = [str(one["item"]) for one in entries if _word(folder, one) is None]
    click.echo(f"{len(open_)} wait for a person")
    if open_:
        click.echo(f"show one: finassay rubric queue {_quoted(folder)} {open_[0]}")


def _word(folder: RubricFolder, entry: Mapping[str, Any]) -> Decision | None:
    """What was decided of an entry: of itself, of its obligation, or of its only criterion."""
    inside = [str(c.get("id")) for c in entry.get("criteria", ()) if isinstance(c, dict)]
    names = (str(entry["item"]), str(entry.get("obligation_id", "")), *(inside if len(inside) == 1 else ()))
    return next((said for name in names if name and (said := said_of(folder, name).decision)), None)


def shown(folder: RubricFolder, entry: Mapping[str, Any], *, as_json: bool) -> None:
    """One item with everything that is needed to decide it."""
    if as_json:
        click.echo(json.dumps(entry, indent=1, ensure_ascii=False))
        return
    for line in _told(folder, entry):
        click.echo(line)


def _told(folder: RubricFolder, entry: Mapping[str, Any]) -> Iterator[str]:
    item, points = str(entry["item"]), f", {entry['points']} of 100 points" if "points" in entry else ""
    yield f"{item}  {_line(str(entry.get('obligation', 'the whole rubric')))}{points}"
    if entry.get("query"):
        yield f"query    {_line(str(entry['query']), 2_000)}"
        yield f"cutoff   {entry.get('cutoff', '')}"
    for why in entry.get("why", ()):
        yield f"waits    {_line(str(why))}"
    for one in entry.get("criteria", ()):
        yield from _criterion(one)
    if tried := entry.get("tried"):
        yield "tried"
        for one in tried:
            yield f"  try {one.get('try')}  {_line(str(one.get('reason', '')))}"
    if "drafts" in entry:
        yield f"drafts   {folder.root / str(entry['drafts'])}, reviews in {folder.root / 'reviews'}"
    if said := _word(folder, entry):
        yield f"decided  {said.decision} by {visible(said.by)}" + (f": {visible(said.reason)}" if said.reason else "")
    if wrong := said_of(folder, item).wrong:
        yield f"decided  {_line(wrong, 600)}"
    yield from _how(folder, item, entry)


def _criterion(data: Mapping[str, Any]) -> Iterator[str]:
    try:
        one = Criterion.model_validate(data)
    except ValueError:
        yield f"criterion  {_line(json.dumps(data, ensure_ascii=False))}"
        return
    about = ", ".join(filter(None, (one.kind, one.entity, one.period)))
    yield f"criterion {one.id}  {_line(one.text)} ({visible(about)})"
    if one.reason:
        yield f"  reason     {_line(one.reason)}"
    for route in one.expected:
        name = f" ({route.topic}: {route.route_id})" if route.topic else ""
        yield f"  candidate  {_line(value_of(route))}{visible(name)} {visible(route.period)}".rstrip()
        yield from _evidence(route.evidence)
    for review in one.review:
        yield f"  reviewer   {_line(review_in_words(review))}"
        yield from _evidence(review.evidence)


def _evidence(evidence: Sequence[Evidence]) -> Iterator[str]:
    for e in evidence:
        if e.kind == "source":
            page = f", page {e.page}" if e.page is not None else ""
            yield f"    {visible(e.document)}{page}: {_line(e.quote)}"
        else:
            yield f"    {visible(e.script)} of {_line(', '.join(f'{i.name} = {i.shown}' for i in e.inputs))}"


def _how(folder: RubricFolder, item: str, entry: Mapping[str, Any]) -> Iterator[str]:
    told = entry.get("decide")
    told = told if isinstance(told, Mapping) else how(item, entry)
    yield f"decide   by a file {folder.root / str(told['file'])}, which holds one of"
    for example in told["examples"]:
        yield f"    {json.dumps(example, ensure_ascii=False)}"
    yield "or by a command"
    base = f"finassay rubric queue {_quoted(folder)} {item}"
    for example in told["examples"]:
        yield f"    {base} {_options(example)}"


def _options(example: Mapping[str, Any]) -> str:
    if example["decision"] != "value":
        return f"--{example['decision']} --by {shlex.quote(str(example['by']))} --reason {shlex.quote(str(example.get('reason', '')))}"
    named = [f"--{name} {shlex.quote(str(value))}" for name, value in example.items() if name not in ("decision", "inputs")]
    return " ".join([*named, *(["--inputs inputs.json"] if "inputs" in example else [])])


def left_open(folder: RubricFolder, item: str, said: Decision) -> Iterator[str]:
    """What a person should know before going on: an obligation that is left without anything that can be graded keeps a rubric from being final."""
    if said.decision == "value" or item == WHOLE or not folder.has("rubric.json"):
        return
    rubric = Rubric.model_validate(folder.read("rubric.json"))
    entry = items_of(folder).get(item, {})
    owner = next((o for o in rubric.obligations if o.id == entry.get("obligation_id")), None)
    if owner is None:
        return
    gone = {item} if item != owner.id else {c.id for c in rubric.criteria if c.obligation_id == owner.id}
    stays = [
        c for c in rubric.criteria if c.obligation_id == owner.id and bears_points(c) and (c.id not in gone or said.decision == "accept")
    ]
    offered = [c for c in entry.get("criteria", ()) if c.get("expected") and said.decision == "accept"]
    if not stays and not offered and owner.points > Decimal(0):
        yield (
            f"  note: nothing in {owner.id} can then be graded: its {owner.points} points stand in no criterion, and the rubric stays queued, "
            "not final, until a value is stated"
        )


def _quoted(folder: RubricFolder) -> str:
    return shlex.quote(str(folder.root))


def _line(text: str, most: int = MAX_LINE) -> str:
    words = visible(text)
    return words if len(words) <= most else words[: most - 1] + "…"


__all__ = ["left_open", "listed", "shown"]
