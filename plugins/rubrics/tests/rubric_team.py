"""Researchers that do as they are told, a source of a few pages, and an orchestrator over both."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path

from attrs import evolve

from finassay.api.delivery import RunResult
from finassay.api.research import Derivation, Draft, DraftCriterion, DraftRoute, Input, Period, Question, Quote
from finassay.api.source import Document, NotThereError, Page, SourceItem
from finassay_rubrics.context.contextualize import contextualize
from finassay_rubrics.generate.assembly import at_work
from finassay_rubrics.generate.scripts import ScriptRunner
from finassay_rubrics.guidance.general import GeneralPack, NoOptions

CUTOFF = date(2023, 3, 1)
QUERY = "What was the revenue of Orchard Toolworks in FY2022?"
TWO = "Report revenue and net income of Orchard Toolworks for FY2022 and explain what drove revenue."
PAGE = "ORCHARD TOOLWORKS\nIncome statement (in millions) 2022 2021\nNet sales $ 4,812 $ 4,390\nNet income 501 403\n"
VALUES = {"revenue": "4,812", "net_income": "501"}
SCRIPT = 'import json, sys\nfrom decimal import Decimal\nx = json.load(sys.stdin)\nprint(json.dumps({"value": str(Decimal(x["shown"]))}))\n'
GENERAL = GeneralPack(NoOptions()).guidance


class LocalRuns:
    """Runs scripts of these tests in a folder of their own. Implements `finassay_rubrics.generate.scripts.Runs`."""

    def run(self, files, argv, *, seconds):
        with tempfile.TemporaryDirectory() as folder:
            for name, path in files.items():
                shutil.copy(path, Path(folder) / name)
            command = [sys.executable if a == "{python}" else a for a in argv]
            try:
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
            except subprocess.TimeoutExpired:
                return RunResult(None, "", "", seconds, {})
            return RunResult(done.returncode, done.stdout, done.stderr, 0, {})


@contextmanager
def script_runner():
    yield ScriptRunner(LocalRuns())


class Shelf:
    """A source of the documents it is given: reference to (date, pages)."""

    id = "shelf"

    def __init__(self, **documents):
        self.documents = documents or {"report": (date(2023, 2, 1), [PAGE])}
        self.opened = 0

    def _item(self, reference):
        return SourceItem(self.id, reference, f"annual report {reference}", self.documents[reference][0], "given", "Orchard Toolworks")

    def search(self, query, cutoff, limit=10):
        return []

    def find(self, query, cutoff, limit=50):
        return [self._item(reference) for reference in self.documents]

    def open(self, reference, cutoff):
        self.opened += 1
        if reference not in self.documents:
            raise NotThereError("no such document")
        pages = tuple(Page(n, text, "") for n, text in enumerate(self.documents[reference][1], 1))
        return Document(self._item(reference), pages, "")


def found(desk, metric="revenue", *, shown=None, script=SCRIPT, add=0, period="FY2022"):
    """A derivation as an honest family makes it: a quote, an input, an executed script."""
    item = next(iter(desk.find("Orchard Toolworks")), None)
    if item is None:
        return Derivation(None, reason="no document as of the cutoff")
    page = desk.open("shelf", item.reference).pages[0]
    shown = shown or VALUES[metric]
    line = next(line for line in page.text.splitlines() if shown in line)
    start = page.text.index(line)
    quote = Quote("shelf", item.reference, 1, start, start + len(line), line, page.digest, item.published)
    value = Decimal(shown.replace(",", "")) * 1_000_000 + add
    period = Period(period, date(2022, 9, 30))
    taken = Input("shown", value, 0, shown, Decimal(1_000_000), period, metric)
    ran = desk.run(script, {"shown": str(value)})
    return Derivation(value, "USD", period, (quote,), (taken,), ran, Decimal(1_000_000))


def criterion(id, derivation, *, text="States the revenue of FY2022", metric="revenue", routes=None, **more):
    question = Question(id, text, metric, entity="Orchard Toolworks", period=Period("FY2022"))
    routes = routes or (DraftRoute("any", "", "", derivation),)
    routes = tuple(r for r in routes if r.derivation.value is not None)
    reason = "" if routes else derivation.reason
    return DraftCriterion(id, text, "numeric", ("P01",), (), routes, question, bool(routes), reason=reason, **more)


class Scripted:
    """A researcher. `writes` and `derives` take what the protocol gives, and say what happens."""

    version = "1"

    def __init__(self, family, writes=None, derives=None):
        self.id = self.family = family
        self.writes, self.derives = writes or honest, derives or (lambda question, desk: found(desk, question.metric))
        self.asked = []

    def write(self, assignment, desk):
        self.asked.append(assignment)
        return self.writes(assignment, desk)

    def derive(self, question, desk):
        self.asked.append(question)
        return self.derives(question, desk)


def honest(assignment, desk):
    if assignment.what.startswith("explain"):
        return Draft((DraftCriterion(f"{assignment.obligation}.1", assignment.what, "text", ("P09",), (), reason="no words here"),))
    metric = "net_income" if "income" in assignment.what else "revenue"
    text = f"States the {metric.replace('_', ' ')} of FY2022"
    return Draft((criterion(f"{assignment.obligation}.1", found(desk, metric), text=text, metric=metric),))


@contextmanager
def working(out, writer=None, reviewer=None, *, query=QUERY, source=None, guidance=GENERAL, cutoff=CUTOFF, told=None, context=None, **more):
    who = writer or Scripted("one"), reviewer or Scripted("other")
    context = context or contextualize(query, cutoff, today=date(2026, 1, 1))
    with at_work(out, context, guidance, who, {"shelf": source or Shelf()}, told=told or (lambda words: None), **more) as orchestrator:
        yield orchestrator


def made(out, *arguments, **more):
    with working(out, *arguments, **more) as orchestrator:
        return orchestrator.make()


def digest(path):
    return {
        str(p.relative_to(path)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(path.rglob("*"))
        if p.is_file() and not p.name.startswith(".") and p.name != "sources.jsonl"
    }


__all__ = [
    "CUTOFF",
    "GENERAL",
    "PAGE",
    "QUERY",
    "TWO",
    "Scripted",
    "Shelf",
    "criterion",
    "digest",
    "evolve",
    "found",
    "made",
    "script_runner",
    "working",
]
