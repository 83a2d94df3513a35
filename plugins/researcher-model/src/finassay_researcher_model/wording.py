"""The words of the prompts: packaged text files and the descriptions of tools and forms, under one digest."""

import hashlib
import json
from functools import cache
from importlib import resources
from typing import Final

from pydantic import BaseModel

from finassay.api.model import Tool
from finassay_researcher_model import forms

HAND_IN: Final = "hand_in"
NUDGE: Final = "Nobody reads what stands outside a call of a tool. Call one; when you have what you need, call hand_in."
BY_TEXT: Final = """You have no tools of your own. Reply with one JSON object that names the tool and holds its arguments as the text of a JSON object:
{{"tool": "find_documents", "arguments": "{{\\"words\\": \\"…\\"}}"}}. You are then told the result. The tools, with the schemas of their arguments:
{tools}"""
BROKEN: Final = "The arguments of your call could not be read as one JSON object. Call it again."
CUT: Final = "Your reply was cut at its length limit. Be shorter: one call of a tool."
LAST: Final = "You have {left} replies left: hand in what you can ground, and leave the rest unresolved."
LEFT_OUT: Final = "(left out for want of room; ask again if you need it)"
TOOLS: Final[dict[str, tuple[str, type[BaseModel]]]] = {
    "search": ("Passages that fit best, in all documents, with page and document.", forms.SearchForm),
    "find_documents": ("Documents by publisher or title, newest first.", forms.FindForm),
    "pages": ("How many pages a document has, and how each begins.", forms.DocumentForm),
    "find_in_document": ("Pages of a document that hold all of the words, with the lines.", forms.WithinForm),
    "read_page": ("One page of a document.", forms.PageForm),
    "run_python": (
        "Try a script in the sandbox, with inputs as the final one would get them. It needs no file and no network.",
        forms.ScriptForm,
    ),
}
WRITES: Final[tuple[str, type[BaseModel]]] = ("Hand in the criteria of the obligation, all of them at once.", forms.DraftForm)
DERIVES: Final[tuple[str, type[BaseModel]]] = ("Hand in the value, or why there is none.", forms.ValueForm)


@cache
def text(name: str) -> str:
    """A packaged prompt."""
    return (resources.files("finassay_researcher_model") / "texts" / f"{name}.md").read_text("utf-8")


def system(role: str) -> str:
    """What a role is told before anything else."""
    return f"{text(role)}\n{text('common')}"


@cache
def tools(role: str) -> tuple[Tool, ...]:
    """The tools of a role, `hand_in` last."""
    told = {**TOOLS, HAND_IN: WRITES if role == "writer" else DERIVES}
    return tuple(Tool(name, description, forms.schema_of(form)) for name, (description, form) in told.items())


@cache
def digest(role: str) -> str:
    """SHA-256 over everything that a role is told in words, whatever the question."""
    from finassay_researcher_model import prompts

    words = [
        system(role),
        [[t.name, t.description, t.schema] for t in tools(role)],
        NUDGE,
        BY_TEXT,
        BROKEN,
        CUT,
        LAST,
        LEFT_OUT,
        prompts.words(),
    ]
    return hashlib.sha256(json.dumps(words, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
