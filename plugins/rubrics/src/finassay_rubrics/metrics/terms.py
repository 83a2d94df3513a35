"""Names of metrics and lines in text, and definitions that a query gives itself."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from attrs import frozen

from finassay_rubrics.metrics.formula import FormulaError, Line, Mean, Node, Operation, average, constant, lines, mapped, shifted
from finassay_rubrics.metrics.table import table

_FOLDED: Final = {
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
    "–": "-",
    "—": "-",
    "‐": "-",
    "‑": "-",
    "−": "-",
    "×": "*",
    "÷": "/",
    "\u00a0": " ",
}
YEAR: Final = re.compile(
    r"(?<![\w$.,])(?:(?:fy|cy)\s*'?|fiscal\s+(?:years?\s+)?|years?\s+(?:end(?:ed|ing)?\s+)?)?((?:19|20)\d\d)(?![\d,.]\d|\d|\s*%)|(?<!\w)fy\s*'?(\d\d)(?!\d)"
)
"""A fiscal year in folded text: `fy2017`, `fy 17`, `fiscal 2017`, `fiscal year 2017`, `2017`."""
STATEMENTS: Final = re.compile(
    r"(?:consolidated\s+)?(?:cash\s+flows?\s+statements?|statements?\s+of\s+(?:consolidated\s+)?(?:cash\s+flows?|income|operations|earnings|financial\s+position|"
    r"profit\s+and\s+loss)|income\s+statements?|p&l(?:\s+statements?)?|profit\s+and\s+loss\s+statements?|balance\s+sheets?)"
)
_OPERATORS: Final = (
    (re.compile(r"\bdivided\s+by\b"), "/"),
    (re.compile(r"\bmultiplied\s+by\b|\btimes\b"), "*"),
    (re.compile(r"\bless\b|\bminus\b"), " - "),
    (re.compile(r"\bplus\b"), " + "),
)
_LEADING: Final = re.compile(r"^(?:the|of|a|an|its|company's|amount of)\s+")
_TRAILING: Final = re.compile(
    r"\s+(?:from|in|on|per|shown in|shown on|as shown in|reported in)\s+(?:the\s+)?§+\s*$|\s+(?:in|for|at|of|as of|at the end of|from)$"
)
_ADJECTIVES: Final = re.compile(r"\b(?:total|unadjusted|reported|annual|gaap|year[- ]end|ending|consolidated)\s+")


def fold(text: str) -> str:
    """Lower case with plain quotes, dashes and spaces; as long as the text, so that places stay."""
    return "".join(_FOLDED.get(c, c.lower() if len(c.lower()) == 1 else c) for c in text)


@cache
def words(kind: str) -> frozenset[str]:
    """A list of the packaged `words.toml`."""
    text = (resources.files("finassay_rubrics.metrics") / "words.toml").read_text("utf-8")
    return frozenset(tomllib.loads(text)[kind].split())


def year_of(match: re.Match[str]) -> int:
    """The year of a `YEAR` match; two digits are of this century."""
    return int(match[1]) if match[1] else 2000 + int(match[2])


@frozen
class Name:
    """A name found in text."""

    start: int
    end: int
    id: str


@cache
def _index() -> tuple[re.Pattern[str], Mapping[str, str]]:
    ids = {fold(name): metric.id for metric in table().metrics.values() for name in metric.names}
    patterns = sorted((_flexible(name) for name in ids), key=len, reverse=True)
    return re.compile(rf"(?<![\w&])(?:{'|'.join(patterns)})(?![\w&])"), {_plain(name): id for name, id in ids.items()}


def _flexible(name: str) -> str:
    return re.escape(name).replace(r"\ ", r"[\s-]+").replace(r"\-", r"[\s-]").replace(",", ",?")


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", " ", name.replace(",", "").replace("(", "").replace(")", "")).strip()


def names_in(folded: str) -> list[Name]:
    """Every name of the table in folded text, longest first where they overlap, in order."""
    pattern, ids = _index()
    return [Name(m.start(), m.end(), ids[_plain(m[0])]) for m in pattern.finditer(folded) if _plain(m[0]) in ids]


def named(term: str, own: Mapping[str, Node] | None = None) -> Node | None:
    """The formula of a whole term: defined by the query itself, or a metric or line of the table; None for an unknown one."""
    _, ids = _index()
    for text in dict.fromkeys((_plain(term), _plain(_ADJECTIVES.sub("", term + " ")))):
        if own and text in own:
            return own[text]
        if text in ids:
            return table().metrics[ids[text]].formula
    return None


_BODY: Final = r"(?P<body>.+?)(?=\.\s|\.$|;|\?|$)"
_DEFINED: Final = (
    re.compile(
        rf"(?:^|(?<=[.?;:,]))\s*(?P<name>[^.?;:,]{{2,80}}?)\s+(?:here\s+)?(?:is|are)\s+(?:here\s+)?(?:defined|calculated|computed)\s+as\s*:?\s*{_BODY}"
    ),
    re.compile(rf"\bdefin(?:e|ing)\s+(?P<name>[^.?;:]{{2,80}}?)\s+as\s*:?\s*{_BODY}"),
    re.compile(rf"(?:^|(?<=[.?;]))\s*(?P<name>[^.?;:=]{{2,60}}?)\s*=\s*{_BODY}"),
)


@frozen
class Definitions:
    """What a query defines itself: plain name to the text of its formula, and the text without the definitions (blanked, same length)."""

    bodies: Mapping[str, str]
    rest: str


def definitions(folded: str) -> Definitions:
    """The definitions that folded text gives."""
    bodies: dict[str, str] = {}
    rest = folded
    for pattern in _DEFINED:
        for match in pattern.finditer(rest):
            for name in _called(match["name"]):
                bodies.setdefault(name, match["body"])
        rest = pattern.sub(lambda m: " " * len(m[0]), rest)
    return Definitions(bodies, rest)


def _called(name: str) -> list[str]:
    """A defined name and its abbreviation in brackets."""
    short = re.search(r"\(([a-z&]{2,8})\)", name)
    plain = _plain(_LEADING.sub("", re.sub(r"\([^)]*\)", " ", name).strip()))
    return [plain, *([short[1]] if short else [])]


def formula_of(body: str, base: int, given: Definitions) -> Node:
    """The tree of a definition in words. `base` is the year that offset 0 stands for. Raises `FormulaError` for a term that nobody knows."""
    return _apart(_Definition(base, given, ()).read(body))


def _apart(node: Node) -> Node:
    """The formula with short-term debt as the borrowings alone where it takes the current portion of long-term debt besides: none counts twice."""
    portions = {line.offset for line in lines(node) if line.id == "current_portion"}
    return mapped(
        node, lambda line: Line("short_term_borrowings", line.offset) if line.id == "short_term_debt" and line.offset in portions else line
    )


_PIECES: Final = re.compile(r"\s*([()*/+]|(?<=[\s)\d])-(?=[\s(])|:)\s*")


class _Definition:
    """Reads a definition: arithmetic between terms in words."""

    def __init__(self, base: int, given: Definitions, inside: tuple[str, ...]) -> None:
        self.base, self.given, self.inside = base, given, inside
        self.pieces: list[str] = []
        self.place = 0

    def read(self, body: str) -> Node:
        text = STATEMENTS.sub(lambda m: "§" * len(m[0]), body.strip().rstrip("."))
        text = re.sub(r"(?<=[a-z])\s*\((?:[a-z&]{2,8})\)", "", text)
        for pattern, sign in _OPERATORS:
            text = pattern.sub(sign, text)
        self.pieces = [piece for piece in (p.strip() for p in _PIECES.split(text)) if piece]
        node = self.sum()
        if self.place < len(self.pieces):
            raise FormulaError(f"definition: {self.pieces[self.place]!r} is out of place")
        return node

    def next(self) -> str:
        return self.pieces[self.place] if self.place < len(self.pieces) else ""

    def take(self) -> str:
        if self.place >= len(self.pieces):
            raise FormulaError("a definition ends too soon")
        self.place += 1
        return self.pieces[self.place - 1]

    def sum(self) -> Node:
        node = self.product()
        while self.next() in ("+", "-"):
            op = self.take()
            node = Operation(op, node, self.product())
        return node

    def product(self) -> Node:
        node = self.atom()
        while self.next() in ("*", "/"):
            op = self.take()
            node = Operation(op, node, self.atom())
        return node

    def atom(self) -> Node:
        piece = self.take()
        if piece == "(":
            node = self.sum()
            if self.take() != ")":
                raise FormulaError("a definition does not close a bracket")
            return node
        if re.fullmatch(r"\d+(?:\.\d+)?", piece) and not YEAR.fullmatch(piece):
            return constant(piece)
        if self.next() == "(" and re.fullmatch(r"(?:average|mean|change)(?: (?:of|in))?", piece):
            self.take()
            inner = self.sum()
            if self.take() != ")":
                raise FormulaError("a definition does not close a bracket")
            return average(inner) if piece[0] in "am" else Operation("-", inner, shifted(inner, -1))
        return self.term(piece)

    def term(self, piece: str) -> Node:
        years = sorted({year_of(match) - self.base for match in YEAR.finditer(piece)})
        text = re.sub(r"\b(?:between|from)\s+§*(?=\s*$|\s*and\b|\s*to\b)", " ", YEAR.sub(" ", piece))
        text = re.sub(r"\b(?:between|from)\s+(?:and|to)\s*$|\s+and\s*$|\s+to\s*$", " ", re.sub(r"\s+", " ", text)).strip()
        text = re.sub(r"\s+(?:between|from)$", "", text)
        verb = re.match(r"(?:the\s+)?(average|mean|change|increase)\s+(?:of\s+|in\s+)?(?:the\s+)?", text)
        text = text[verb.end() :] if verb else text
        node = self.known(text)
        if not verb:
            if len(years) > 1:
                raise FormulaError(f"definition: {piece!r} is of several years at once")
            return shifted(node, years[0]) if years else node
        first, last = (years[0], years[-1]) if years else (-1, 0)
        if verb[1] in ("average", "mean"):
            return Mean(tuple(shifted(node, year) for year in (range(first, last + 1) if first < last else (first - 1, first))))
        return Operation("-", shifted(node, last), shifted(node, first if first < last else first - 1))

    def known(self, text: str) -> Node:
        for _ in range(4):
            text = _TRAILING.sub("", _LEADING.sub("", text.strip())).strip(" ,")
        plain = _plain(text)
        if plain in self.given.bodies and plain not in self.inside:
            return _Definition(self.base, self.given, (*self.inside, plain)).read(self.given.bodies[plain])
        node = named(text)
        if node is None:
            raise FormulaError(f"the definition takes {text!r}, which is no line or metric of the table")
        return node


def unknown_line(node: Node) -> str:
    """The id of a line that the table does not hold, or nothing."""
    return next((line.id for line in lines(node) if line.id not in table().lines), "")


def bare(rest: str) -> str:
    """The text without names of statements and what stands in brackets, as long as before."""
    blank = STATEMENTS.sub(lambda m: " " * len(m[0]), rest)
    return re.sub(r"\([^()]*\)", lambda m: " " * len(m[0]) if not re.search(r"\bfy|\d{4}", m[0]) else m[0], blank)


__all__ = [
    "STATEMENTS",
    "YEAR",
    "Definitions",
    "Line",
    "Name",
    "bare",
    "definitions",
    "fold",
    "formula_of",
    "named",
    "names_in",
    "unknown_line",
    "words",
    "year_of",
]
