"""The kinds of components: their entry-point groups and what an object of each kind must have."""

from typing import Final

from attrs import frozen


@frozen
class Kind:
    """One kind. `members` are the names that a component of it must have; behaviour is the conformance kit's to check."""

    name: str
    group: str
    members: tuple[str, ...]
    summary: str


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("agent", "finassay.agents", ("id", "version", "capabilities", "start", "send", "finalize"), "does the financial work"),
        Kind("persona", "finassay.personas", ("persona",), "who the simulated user is"),
        Kind(
            "grammar",
            "finassay.grammars",
            ("id", "version", "components", "sample", "check", "size", "belief", "universe", "observables", "rejected_examples"),
            "a space of strategies",
        ),
        Kind("simulator", "finassay.simulators", ("id", "version", "deterministic", "open", "decide"), "plays the user"),
        Kind("judge", "finassay.judges", ("id", "version", "deterministic", "answer"), "grades meaning"),
        Kind("check", "finassay.checks", ("id", "dimension", "role", "by_turn", "brief", "run"), "grades what a program can decide"),
        Kind("reader", "finassay.readers", ("id", "read"), "makes what a judge reads out of a delivery"),
        Kind("sandbox", "finassay.sandboxes", ("id", "isolation", "probe", "open"), "where an agent's processes run"),
        Kind("channel", "finassay.channels", ("id", "describe"), "how an agent may reach data"),
        Kind(
            "gateway",
            "finassay.gateways",
            ("id", "problems", "secrets", "open", "close"),
            "how agents reach model APIs and channels without a key",
        ),
        Kind(
            "model",
            "finassay.models",
            ("id", "family", "capabilities", "complete"),
            "a chat model for simulators, judges and rubric writers",
        ),
        Kind("guidance", "finassay.guidance", ("guidance",), "an institution's guidance for rubrics"),
        Kind("source", "finassay.sources", ("id", "search", "find", "open"), "where rubric writers look things up, as of a day"),
        Kind("researcher", "finassay.researchers", ("id", "family", "version", "write", "derive"), "finds the values of a rubric"),
        Kind("embedding", "finassay.embeddings", ("id", "version", "embed"), "turns texts into vectors"),
        Kind("reporter", "finassay.reporters", ("write",), "writes a page to read about a run"),
    )
}
COMMANDS_GROUP: Final = "finassay.commands"


def kind_named(name: str) -> Kind | None:
    """The kind of a singular or plural name, or None."""
    for kind in KINDS.values():
        if name in (kind.name, kind.group.removeprefix("finassay.")):
            return kind
    return None
