"""The closed vocabulary of signatures: metrics, kinds of deliverables, conventions, and nouns for what no metric names."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from attrs import frozen

from finassay_rubrics.metrics.table import table

FALLBACK: Final = "report"


@frozen
class Deliverable:
    """A kind of thing that is asked for."""

    id: str
    title: str
    words: tuple[re.Pattern[str], ...]
    needs_metric: bool = False


@frozen
class Vocabulary:
    deliverables: Mapping[str, Deliverable]
    nouns: frozenset[str]
    topics: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """The packaged vocabulary."""
    folder = resources.files("finassay_rubrics.bank")
    raw = tomllib.loads((folder / "deliverables.toml").read_text("utf-8"))
    kinds = {
        id: Deliverable(id, entry["title"], tuple(re.compile(w) for w in entry["words"]), entry.get("needs") == "metric")
        for id, entry in raw.items()
    }
    nouns = frozenset((folder / "nouns.txt").read_text("utf-8").split())
    topics = frozenset(route.topic for metric in table().metrics.values() for route in metric.routes)
    return Vocabulary(kinds, nouns, topics)


def metric_title(id: str) -> str:
    """A metric in words: its first name in the table, a noun for one that is not there."""
    if id.startswith("other"):
        noun = id.partition(":")[2]
        return noun or "the matter that is asked about"
    metric = table().metrics.get(id)
    return metric.names[0] if metric else id.replace("_", " ")
