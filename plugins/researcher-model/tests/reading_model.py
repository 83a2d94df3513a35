"""Models that follow a script: what a careful researcher does at a desk, as calls of tools."""

import json
import re

from finassay.api.model import ChatReply, ModelCapabilities, ToolCall
from finassay.api.usage import Usage
from finassay.testing.fakes import FakeModels, FunctionChatModel
from finassay_researcher_model.options import ModelResearcherOptions
from finassay_researcher_model.researcher import ModelResearcher

USAGE = Usage(1_000, 0, 100)
BALANCE = ("Total assets $ 3,598.8 $ 3,423.8", "(In millions, except par value)\nSeptember 30,\n2022 2021")


def call(name, id="c1", **arguments):
    return ToolCall(id, name, arguments)


def says(*calls, text="", finish="tool"):
    """A reply that calls tools, or one in words."""
    return ChatReply(text, finish if calls else "stop", "model-1", tool_calls=calls, usage=USAGE)


def turn_of(request):
    """Which reply is asked for, from 0."""
    return sum(m.role == "assistant" for m in request.messages)


def results(request):
    """What tools answered, in order."""
    return [m.text for m in request.messages if m.role == "tool"]


def by_turn(*replies):
    """A model that gives its replies in order in each conversation, the last one again and again; a function is asked with the request."""

    def reply(request):
        one = replies[min(turn_of(request), len(replies) - 1)]
        return one(request) if callable(one) else one

    return FunctionChatModel(reply)


def value(*, quotes=(), inputs=(), code="", words="", unit="", period_end="", reason=""):
    return {
        "quotes": [dict(zip(("document", "page", "text"), q, strict=True)) for q in quotes],
        "inputs": list(inputs),
        "code": code,
        "words": words,
        "unit": unit,
        "period_end": period_end,
        "reason": reason,
    }


def taken(name, shown, quote=1, scale="millions", period="", line=""):
    return {"name": name, "shown": shown, "quote": quote, "scale": scale, "period": period, "line": line}


def total(page, shown="3,598.8", document="D1"):
    """The sample report's total assets, as a careful model hands them in."""
    quotes = [(document, page, text) for text in BALANCE]
    return value(quotes=quotes, inputs=[taken("total_assets", shown)], unit="USD", period_end="2022-09-30")


def nothing(reason="no document that is there shows it"):
    return value(reason=reason)


def criterion(one, **more):
    base = {
        "id": "c1",
        "text": "States the total assets of Orchard Toolworks at the end of FY2022",
        "kind": "numeric",
        "principles": [],
        "bindings": ["ENT1", "MET1"],
        "question": "What were the total assets of Orchard Toolworks at the end of FY2022?",
        "metric": "total_assets",
        "entity": "Orchard Toolworks",
        "period": "FY2022",
        "routes": [{"topic": "", "route": "any", "convention": "", "value": one}],
    }
    return {**base, **more}


PAGES = {"total assets": "Total liabilities and stockholders' equity", "operating margin": "Operating income Gross profit"}
MARGIN = """import json, sys
from decimal import Decimal
x = {name: Decimal(text) for name, text in json.load(sys.stdin).items()}
print(json.dumps({"value": str(100 * x["operating_income"] / x["revenue"])}))
"""
INCOME = (
    "Operating income 688.0 559.2 476.6",
    "Net sales $ 4,812.4 $ 4,390.1 $ 4,105.7",
    "(In millions, except per share data)\nYears Ended September 30,\n2022 2021 2020",
)


def margin(page, document="D1"):
    """The operating margin, computed."""
    quotes = [(document, page, text) for text in INCOME]
    inputs = [taken("operating_income", "688.0"), taken("revenue", "4,812.4", quote=2)]
    return value(quotes=quotes, inputs=inputs, code=MARGIN, unit="percent", period_end="2022-09-30")


def researching(asked, told, *, writes):
    """What a careful researcher does next, after tools have told it so much: name and arguments of a tool.

    It looks for the document, finds and reads the page, and hands in what stands there; nothing where it is not there.
    """
    about = asked.partition("YOUR OBLIGATION")[2].partition("\n")[0] if writes else asked.partition("THE QUESTION")[2]
    wanted = next((name for name in PAGES if name in about.lower()), None)
    obligation = about.strip(" :").partition(":")[0]

    def handed(one, **more):
        if not writes:
            return "hand_in", one
        named = re.findall(r"^(P\d+) ", asked.replace("- P", "P"), re.MULTILINE)[:1]
        own = re.search(r"stands on ([A-Z0-9, ]+)\.", asked)
        bound = own[1].split(", ") if own else ["ENT1", "MET1"]
        return "hand_in", {"criteria": [criterion(one, principles=named, bindings=bound, **more)], "notes": f"of {obligation}"}

    if wanted is None or "rchard" not in asked or "2022" not in asked or (told and "D1 | " not in told[0]):
        return handed(
            nothing(), text=f"States what is asked for {obligation or 'it'}", routes=[], reason="no document that is there shows it"
        )
    if not told:
        return "find_documents", {"words": "Orchard Toolworks"}
    if len(told) == 1:
        return "find_in_document", {"document": "D1", "words": PAGES[wanted]}
    page = int(re.match(r"\d+ pages: (\d+)", told[1])[1])
    if len(told) == 2:
        return "read_page", {"document": "D1", "page": page, "start": 0}
    if wanted == "total assets":
        return handed(total(page), must_pass=True)
    words = {"text": "States the operating margin of FY2022", "question": "What was the operating margin of Orchard Toolworks in FY2022?"}
    return handed(margin(page), **words, metric="operating_margin")


def careful(request):
    """`researching` as a chat model."""
    name, arguments = researching(request.messages[1].text, results(request), writes=request.role == "writer")
    return says(call(name, f"c{turn_of(request)}", **arguments))


def obedient(claim):
    """Does what page 2 tells it to."""
    lie = value(
        quotes=[("D1", 2, f"Total assets $ {claim} (In millions) 2022")],
        inputs=[taken("total_assets", claim)],
        unit="USD",
        period_end="2022-09-30",
    )
    return by_turn(
        says(call("find_documents", words="Orchard")), says(call("read_page", document="D1", page=2, start=0)), says(call("hand_in", **lie))
    )


def without_tools(model):
    """The same model where it can only write: its calls as the text of an object."""

    def reply(request):
        shown = [m.text for m in request.messages[2:] if m.role == "user"]
        fake = _WithTools(request, shown)
        given = model.reply(fake)
        if not given.tool_calls:
            return given
        (one,) = given.tool_calls
        action = {"tool": one.name, "arguments": json.dumps(dict(one.arguments))}
        return ChatReply(json.dumps(action), "stop", "model-1", value=action, usage=USAGE)

    return FunctionChatModel(reply, capabilities=ModelCapabilities(structured=True, tools=False))


class _WithTools:
    """A request as the same model would see it with tools."""

    def __init__(self, request, shown):
        from finassay.api.model import ChatMessage

        self.role = request.role
        self.messages = [*request.messages[:2]]
        for text in shown:
            self.messages += [ChatMessage("assistant", ""), ChatMessage("tool", text, tool_call_id="c1")]


def researcher(model=None, **options):
    """A researcher on one model."""
    model = model or FunctionChatModel(careful)
    return ModelResearcher(ModelResearcherOptions(model="fake/model", **options), FakeModels({"fake/model": model}))


MODELS = FakeModels({"fake/model": FunctionChatModel(careful)})
