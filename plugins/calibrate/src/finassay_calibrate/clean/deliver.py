"""A draft as a package: files in the layout, the conversation, and bytes by hash in a folder."""

import hashlib
from pathlib import Path

from attrs import frozen

from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import DeliveredFile, Delivery, Package, TurnFacts
from finassay.api.task import Conditions, Task
from finassay_calibrate.clean import report, words
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.clean.layouts.write import written
from finassay_calibrate.clean.strategies import GRAMMAR


@frozen
class FolderBlobs:
    """Delivered bytes in a folder, by hash."""

    root: Path

    def path(self, sha256: str) -> Path:
        path = self.root / sha256
        if not path.is_file():
            raise KeyError(sha256)
        return path

    def add(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        path = self.root / name
        if not path.is_file():
            path.write_bytes(data)
        return name


def files(draft: Draft) -> dict[str, bytes]:
    """Every delivered file by path."""
    layout = draft.setup.layout
    tables = dict(draft.tables)
    if layout.prices == "raw-with-splits":
        actions = draft.setup.market.actions
        tables["actions"] = actions[actions["kind"] == "split"].reset_index(drop=True)
    if layout.report != "markdown-only-figures":
        tables["metrics"] = report.metrics_frame(draft)
    found = written(tables, layout, draft.setup.market.tickers, frozenset(draft.dropped))
    text = report.markdown(draft)
    found[report_path(draft)] = (report.as_html(text) if layout.report == "html" else text).encode()
    if "code" not in draft.dropped:
        found |= {path: body.encode() for path, body in draft.code.items()}
    return found | draft.extra


def report_path(draft: Draft) -> str:
    return "report.html" if draft.setup.layout.report == "html" else "REPORT.md"


def conversation(draft: Draft) -> Conversation:
    """Opening, questions, answers, delivery, thanks; further exchanges of the draft come before the delivery."""
    setup = draft.setup
    messages = [Message("u0", 0, "user", words.opening(setup.belief, setup.universe, str(setup.cutoff)))]
    asked = "Before I build anything, so that it is your strategy and not mine:\n\n" + "\n".join(f"- {q}" for q in draft.questions)
    exchanges = [(asked, " ".join(draft.answers)), *((said, heard) for heard, said in draft.later)]
    turn = 1
    for said, heard in exchanges:
        messages += [Message(f"a{turn}", turn, "agent", said), Message(f"u{turn}", turn, "user", heard)]
        turn += 1
    messages.append(Message(f"a{turn}", turn, "agent", report.last_message(draft, report_path(draft))))
    messages.append(Message(f"u{turn}", turn, "user", "Thank you, that is what I wanted."))
    return Conversation(tuple(messages))


def task_of(draft: Draft) -> Task:
    setup = draft.setup
    return Task(
        id=f"calibrate-{setup.id}",
        grammar=GRAMMAR.id,
        grammar_version=GRAMMAR.version,
        seed=setup.strategy.seed,
        persona="generalist-analyst",
        strategy=setup.strategy,
        belief=setup.belief,
        conditions=Conditions(cutoff=setup.cutoff, universe=setup.universe, channels=()),
        observables=GRAMMAR.observables(setup.strategy),
    )


def package_of(draft: Draft, folder: Path) -> Package:
    """The package as grading gets it; the bytes lie in `folder` until the caller removes it."""
    blobs = FolderBlobs(folder)
    stored = tuple(DeliveredFile(path, blobs.add(data), len(data)) for path, data in sorted(files(draft).items()))
    talk = conversation(draft)
    last = talk.messages[-1].turn
    return Package(
        task=task_of(draft),
        conversation=talk,
        deliveries=(*(Delivery(turn) for turn in range(1, last)), Delivery(last, stored)),
        blobs=blobs,
        turns=tuple(TurnFacts(turn, 60.0) for turn in range(1, last + 1)),
        end_reason="satisfied",
    )
