"""The closed vocabulary of signatures: metrics, kinds of deliverables, ways of wanting a figure, conventions, nouns for what no metric names."""

import hashlib
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
class Way:
    """How a figure is wanted; `title` follows the name of a metric."""

    id: str
    title: str
    words: tuple[re.Pattern[str], ...]


@frozen
class Vocabulary:
    deliverables: Mapping[str, Deliverable]
    ways: Mapping[str, Way]
    subjects: re.Pattern[str]
    """Words that make what is asked financial research where no metric is named."""
    nouns: frozenset[str]
    topics: frozenset[str]
    digest: str
    """Of everything that decides which signature a query has: banks of another vocabulary match nothing."""


@cache
def vocabulary() -> Vocabulary:
    """The packaged vocabulary."""
    folder = resources.files("finassay_rubrics.bank")
    raw = tomllib.loads((folder / "deliverables.toml").read_text("utf-8"))
    kinds = {
        id: Deliverable(id, entry["title"], tuple(re.compile(w) for w in entry["words"]), entry.get("needs") == "metric")
        for id, entry in raw.items()
    }
    ways = {
        id: Way(id, entry["title"], tuple(re.compile(w) for w in entry["words"]))
        for id, entry in tomllib.loads((folder / "ways.toml").read_text("utf-8")).items()
    }
    lines = (folder / "subjects.txt").read_text("utf-8").splitlines()
    subjects = re.compile(rf"(?<!\w)(?:{'|'.join(line for line in lines if line and not line.startswith('#'))})(?!\w)")
    nouns = frozenset((folder / "nouns.txt").read_text("utf-8").split())
    topics = frozenset(route.topic for metric in table().metrics.values() for route in metric.routes)
    files = ("deliverables.toml", "ways.toml", "subjects.txt", "nouns.txt")
    told = [*((folder / name).read_text("utf-8") for name in files), *sorted(table().metrics), *sorted(topics)]
    digest = hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]
    return Vocabulary(kinds, ways, subjects, nouns, topics, digest)


def metric_title(id: str) -> str:
    """A metric in words: its first name in the table, a noun for one that is not there."""
    if id.startswith("other"):
        noun = id.partition(":")[2]
        return noun or "the matter that is asked about"
    metric = table().metrics.get(id)
    return metric.names[0] if metric else id.replace("_", " ")
