"""What of a delivery a call shows, within a limit of characters, by stated rules; what is left out is told.

1. Each part has a share: the conversation 35 %, the last report 30 %, tables 10 %, code 15 %, the earlier report 10 %. What a part does not
   need goes to the others in this order.
2. Within the conversation the first and the last message come first, then the others from the newest; within tables those with a known
   role; within code the order of the reader. A text that does not fit in whole keeps its beginning and its end, two to one.
3. A text of which less than 400 characters would be left is left out as a whole.
"""

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from finassay.api.grading import Material
from finassay.api.verdict import Json
from finassay_judge_model.fence import Fence, Originals

SHARES: Final = {"message": 0.35, "report": 0.30, "table": 0.10, "code": 0.15, "earlier report": 0.10}
LEAST: Final = 400
MAX_TOLD: Final = 40


@frozen
class Part:
    """One text of the delivery: what it is, where it stands, how early it is chosen (0 first)."""

    kind: str
    where: str
    text: str
    rank: int
    by: str = ""


@frozen
class Shown:
    """The material as a call holds it."""

    text: str
    omitted: tuple[Json, ...]
    """{"where", "kind", "shown", "of"} of every text that is not there in whole, characters; the last entry counts those not listed."""
    originals: Originals
    fence: Fence


def parts_of(material: Material) -> list[Part]:
    """Every text, in the order in which it is shown."""
    found = []
    last = len(material.messages) - 1
    for place, message in enumerate(material.messages):
        rank = 0 if place == last else 1 if place == 0 else 1 + last - place
        found.append(Part("message", message.where, message.text, rank, _speaker(message.where)))
    for place, report in enumerate(material.reports):
        found.append(Part("report" if place == 0 else "earlier report", report.where, report.text, place))
    for place, table in enumerate(material.tables):
        known = table.role not in ("", "unknown")
        text = f"columns: {', '.join(table.columns)}\n{table.head}"
        found.append(
            Part("table", table.where, text, place if known else place + 10_000, f"{table.role}, {table.rows} rows, the first ones")
        )
    found += [Part("code", code.where, code.text, place) for place, code in enumerate(material.code)]
    return found


def _speaker(message: str) -> str:
    return "the investor" if message.startswith("u") else "the assistant"


def select(material: Material, limit: int) -> Shown:
    """The material within `limit` characters of delivered text."""
    parts = parts_of(material)
    room = _rooms(parts, limit)
    fence = Fence.around([f"{p.kind} {p.where} {p.text}" for p in parts])
    blocks, omitted = [], []
    for part, characters in zip(parts, room, strict=True):
        if characters >= len(part.text):
            blocks.append(fence.block(part.kind, part.where, part.text, part.by))
            continue
        omitted.append({"where": part.where, "kind": part.kind, "shown": characters, "of": len(part.text)})
        if characters:
            head = characters * 2 // 3
            tail = part.text[len(part.text) - (characters - head) :]
            blocks.append(fence.block(part.kind, part.where, part.text[:head], f"{part.by}; its beginning".lstrip("; ")))
            blocks.append(
                fence.block(part.kind, part.where, tail, f"its end; {len(part.text) - characters} characters between are left out")
            )
    if len(omitted) > MAX_TOLD:
        omitted = [*omitted[:MAX_TOLD], {"more": len(omitted) - MAX_TOLD}]
    return Shown("\n\n".join(blocks), tuple(omitted), Originals(tuple(p.text for p in parts)), fence)


def _rooms(parts: Sequence[Part], limit: int) -> list[int]:
    """How many characters of each part are shown."""
    room = [0] * len(parts)
    left = limit
    for share in (True, False):  # first every kind within its share, then whatever is left to the kinds in order
        for kind, portion in SHARES.items():
            budget = min(left, int(limit * portion)) if share else left
            for index in sorted((i for i, p in enumerate(parts) if p.kind == kind), key=lambda i: parts[i].rank):
                wanted = len(parts[index].text) - room[index]
                given = min(wanted, budget)
                if given < wanted and room[index] + given < LEAST:
                    given = 0
                room[index] += given
                budget -= given
                left -= given
    return room
