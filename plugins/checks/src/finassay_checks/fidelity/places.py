"""Where a delivery describes its own strategy, in the order in which the places count (spec D.0.4, `cond(H)`)."""

import ast
import re
from collections.abc import Iterator

from attrs import frozen

from finassay_checks.model import Delivered, Document
from finassay_checks.reruns.entry import scripts

_HEADING = re.compile(r"^\s{0,3}(?:(#{1,6})\s+(.+?)\s*#*\s*|\*\*([^*\n]{2,80})\*\*:?\s*)$")
_RULES = re.compile(
    r"\b(?:rules?|method(?:ology|s)?|specification|spec|assumptions?|settings?|parameters?|strategy|how (?:it|this) works|approach"
    r"|construction|"
    r"definitions?|what (?:was|is|i) (?:built|tested|did)|implementation)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:benchmarks?|sensitivit\w*|robustness|variants?|alternatives?|comparisons?|compared|what changed|versions?|scenarios?|"
    r"what i (?:tried|would)|next steps?|outlook|questions?|appendix: old|change ?log|history)\b",
    re.IGNORECASE,
)
MAX_CODE = 400_000
MAX_ARGUMENTS = 400


@frozen
class Place:
    """One text that may say what the strategy is. `rank` 0 counts first."""

    rank: int
    name: str
    where: str
    text: str
    rules: bool = False
    """A rule table or a rule section: a choice touched here without a known option is undecided rather than missing."""
    verbatim: bool = True
    """Whether sentences of `text` stand in the delivery as they are; rows of a table file are joined with ` | ` and do not."""


@frozen
class Section:
    heading: str
    text: str
    level: int


def sections(text: str) -> tuple[Section, ...]:
    """A document cut at its headings; what stands before the first heading has an empty one."""
    found: list[tuple[str, int, list[str]]] = [("", 0, [])]
    for line in text.split("\n"):
        match = _HEADING.match(line[:300])
        if match:
            found.append(((match[2] or match[3]).strip(), len(match[1]) if match[1] else 7, []))
        else:
            found[-1][2].append(line)
    return tuple(
        Section(heading, "\n".join(lines), level) for heading, level, lines in found if heading or any(line.strip() for line in lines)
    )


def is_rule_heading(heading: str) -> bool:
    return bool(_RULES.search(heading)) and not _ASIDE.search(heading)


def is_aside_heading(heading: str) -> bool:
    return bool(_ASIDE.search(heading)) and not _RULES.search(heading)


def _split(document: Document) -> tuple[str, str]:
    """Rule sections and the other sections of a document, those about variants and benchmarks left out of both."""
    rules: list[str] = []
    rest: list[str] = []
    under: list[tuple[int, bool, bool]] = []
    for section in sections(document.text):
        under = [entry for entry in under if entry[0] < section.level]
        rule = is_rule_heading(section.heading) or any(entry[1] for entry in under)
        aside = is_aside_heading(section.heading) or any(entry[2] for entry in under)
        if section.level:
            under.append((section.level, rule and not aside, aside))
        if not aside:
            (rules if rule else rest).append(f"{section.heading}\n{section.text}" if section.level == 7 else section.text)
    return "\n".join(rules), "\n".join(rest)


def _spec_rows(delivered: Delivered) -> Iterator[Place]:
    """Delivered specification tables as table rows of text."""
    choice = delivered.choices.get("spec")
    for candidate in choice.candidates if choice else ():
        if candidate.table.current:
            cells = (
                [str(cell) for cell in row if str(cell) not in ("nan", "None", "")]
                for row in candidate.frame.head(200).itertuples(index=False)
            )
            text = "\n".join(f"| {' | '.join(row)} |" for row in cells if row)
            yield Place(0, "specification table", candidate.table.where, text, rules=True, verbatim=False)


def code_arguments(code: str) -> tuple[tuple[str, str, str], ...]:
    """(name, text value, source line) of keyword arguments, defaults and module constants whose value is a text or a number.

    Bounded; code that does not parse gives nothing. Nothing is executed.
    """
    if len(code) > MAX_CODE:
        return ()
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    lines = code.split("\n")
    found: list[tuple[str, str, str]] = []

    def add(name: str, node: ast.expr | None) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float) and len(found) < MAX_ARGUMENTS:
            found.append((name, str(node.value)[:80], lines[node.lineno - 1].strip()[:300]))

    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                add(keyword.arg or "", keyword.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            add(node.targets[0].id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            add(node.target.id, node.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    add(key.value, value)
        elif isinstance(node, ast.FunctionDef):
            positional = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            for argument, default in zip(positional, node.args.defaults, strict=True):
                add(argument.arg, default)
            for argument, keyword_default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                add(argument.arg, keyword_default)
    return tuple(found)


def newest_entry(delivered: Delivered) -> Document | None:
    """The script that is started first, by the one order of spec 3.6 that the reruns follow too."""
    return next(iter(scripts(delivered)), None)


def places(delivered: Delivered) -> tuple[Place, ...]:
    """Every place that may describe the headline strategy, best first."""
    found = list(_spec_rows(delivered))
    message = delivered.last_message
    rest = []
    for document in delivered.reports:
        if message is not None and document.where == message.where:
            continue
        rules, other = _split(document)
        if rules.strip():
            found.append(Place(0, "rules of the last report", document.where, rules, rules=True))
        if other.strip():
            rest.append(Place(3, "rest of the last report", document.where, other))
    if message is not None:
        found.append(Place(1, "last message", message.where, message.text))
    entry = newest_entry(delivered)
    if entry is not None:
        found.append(Place(2, "arguments of the entry script", entry.where, entry.text))
    seen = {place.where for place in found} | {place.where for place in rest}
    for document in delivered.documents:
        if document.where not in seen and document.current:
            rules, other = _split(document)
            rest.append(Place(3, "another current document", document.where, f"{rules}\n{other}"))
    earlier = [said for said in reversed(delivered.messages) if message is None or said.where != message.where]
    rest += [Place(4, "an earlier message", said.where, said.text) for said in earlier]
    return (*found, *rest)
