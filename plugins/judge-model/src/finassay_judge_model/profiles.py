"""Which questions share a call."""

import random
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from finassay.api.grading import JudgeRequest, LabelQuestion
from finassay_judge_model.options import ModelJudgeOptions

ALONE: Final = "alone"
FEW: Final = 5
"""So many levels share a call by the profile `category`, whatever their categories: second samples, second askings."""


@frozen
class Place:
    """A request in a call: its index among all requests, its name in the call, and how its levels or labels are ordered."""

    index: int
    request: JudgeRequest
    name: str
    reversed: bool = False

    @property
    def by_labels(self) -> bool:
        return isinstance(self.request.question, LabelQuestion)


@frozen
class Group:
    """The requests of one call to one member of the panel: all about one material, one sample, and of one kind."""

    member: int
    places: tuple[Place, ...]
    why_alone: str = ""
    """Why the question was taken out of a shared call, where it was."""

    def singles(self, failed: "dict[int, str]") -> list["Group"]:
        """A call for each request that failed, by its index."""
        taken = [p for p in self.places if p.index in failed]
        return [Group(self.member, (Place(p.index, p.request, "Q1", p.reversed),), failed[p.index]) for p in taken]


def plan(requests: Sequence[JudgeRequest], options: ModelJudgeOptions, member: int) -> list[Group]:
    """Groups in the order of their first requests."""
    lots: dict[tuple[object, ...], list[int]] = {}
    for index, request in enumerate(requests):
        kind = isinstance(request.question, LabelQuestion)
        lots.setdefault((id(request.material), kind, request.sample, bool(request.refused)), []).append(index)
    groups: list[Group] = []
    for lot in lots.values():
        calls: dict[object, list[int]] = {}
        for index in lot:
            calls.setdefault(_shared(requests[index], options, index, len(lot)), []).append(index)
        groups += [_group(requests, indexes, options, member) for indexes in calls.values()]
    return groups


def _shared(request: JudgeRequest, options: ModelJudgeOptions, index: int, lot: int) -> object:
    """What requests of one call have in common; the request's own index if it has a call of its own. `lot` requests came together."""
    alone = (ALONE, index)
    if options.isolate or options.profile == "isolate":
        return alone
    if options.groups:
        return next((number for number, group in enumerate(options.groups) if request.dimension.id in group), alone)
    together = options.profile == "whole" or lot <= FEW or isinstance(request.question, LabelQuestion)
    return "" if together else request.dimension.category


def _group(requests: Sequence[JudgeRequest], indexes: list[int], options: ModelJudgeOptions, member: int) -> Group:
    turn = (requests[indexes[0]].sample + member) if options.shuffle else 0
    order = list(indexes)
    if turn:
        random.Random(turn).shuffle(order)
    places = (Place(index, requests[index], f"Q{number}", turn % 2 == 1) for number, index in enumerate(order, start=1))
    return Group(member, tuple(places))
