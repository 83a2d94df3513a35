"""Models in roles that say what they are told to: as values of their forms, and in the wire formats of two vendors."""

import json
from contextlib import contextmanager
from datetime import date

from finassay.api.model import ChatReply
from finassay.testing.fakes import FakeChatModel, FunctionChatModel
from finassay_models_anthropic import testing as anthropic_wire
from finassay_models_kit.testing import loopback
from finassay_models_openai import testing as openai_wire
from finassay_rubrics.bank.signature import ISSUERS, PERIODS, signature_of
from finassay_rubrics.context.contextualize import contextualize
from finassay_rubrics.context.places import occurrences

SETTINGS = """
[run.models.anthropic]
base_url = "{anthropic}"
key_variable = "HOUSE_KEY_A"
patience_seconds = 0

[run.models.openai]
base_url = "{openai}/v1"
api = "responses"
key_variable = "HOUSE_KEY_O"
patience_seconds = 0
"""


def reading(query, cutoff=date(2023, 3, 1)):
    """What a careful model would say of a query: as the rules read it, in the form of a model's answer."""
    context = contextualize(query, cutoff, today=date(2026, 1, 1))
    bindings = {name: [_entry(query, name, b) for b in items] for name, items in context["bindings"].items()}
    signature = signature_of(query, context["bindings"])
    parts = [{"deliverable": p.deliverable, "metric": p.metric, "ways": list(p.ways)} for p in signature.parts]
    metrics = {b["canonical"] for b in bindings["metrics"]}
    parts = [p for p in parts if not p["metric"] or p["metric"].startswith("other") or p["metric"] in metrics]
    parts += [{"deliverable": "report", "metric": m, "ways": []} for m in sorted(metrics) if m not in {p["metric"] for p in parts}]
    obligations = [{"what": o["what"], "bindings": list(o["spans"])} for o in context["obligations"]]
    _complete(obligations, context)
    return {
        "bindings": bindings,
        "obligations": obligations,
        "signature": {"parts": parts, "issuers": ISSUERS[signature.issuers], "periods": PERIODS[signature.periods]},
    }


def _entry(query, array, binding):
    number = [p[0] for p in occurrences(query, binding["span"])].index(binding["start"]) + 1
    entry = {"id": binding["id"], "spans": [{"text": binding["span"], "occurrence": number}]}
    entry |= {"canonical": binding.get("canonical", ""), "refers_to": []}
    return {**entry, "type": binding["type"]} if array == "deliverables" else entry


def _complete(obligations, context):
    """A metric inside of what is to be explained belongs there."""
    owned = {b for o in obligations for b in o["bindings"]}
    telling = [d for d in context["bindings"]["deliverables"] if d["type"] == "explain"]
    for metric in context["bindings"]["metrics"]:
        if metric["id"] not in owned:
            around = next(d["id"] for d in telling if d["start"] <= metric["start"] < d["end"])
            next(o for o in obligations if around in o["bindings"])["bindings"].append(metric["id"])


def saying(*values, **more):
    """A model that gives these values in turn, the last again and again; a text is a reply without a value."""
    return FakeChatModel([_reply(v) for v in values], **more)


def _reply(said):
    if isinstance(said, Exception):
        return said
    return ChatReply(said, "invalid", "m") if isinstance(said, str) else ChatReply(json.dumps(said), "stop", "m", value=said)


def answering(answer, **more):
    """A model that answers by a function of the request."""
    return FunctionChatModel(lambda request: ChatReply("", "stop", "m", value=answer(request)), **more)


@contextmanager
def vendors(folder, monkeypatch, anthropic, openai):
    """Two providers on this machine, each with a function from what was asked (as text) to what is said; `finassay.toml` in the current folder."""

    def served(wire, say):
        return lambda asked: wire.answer(say(asked.sent))

    with loopback(served(anthropic_wire, anthropic)) as one, loopback(served(openai_wire, openai)) as two:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "finassay.toml").write_text(SETTINGS.format(anthropic=one.url, openai=two.url), "utf-8")
        monkeypatch.chdir(folder)
        monkeypatch.setenv("HOUSE_KEY_A", "sk-planted-a-0123456789")
        monkeypatch.setenv("HOUSE_KEY_O", "sk-planted-o-0123456789")
        yield one, two
