"""A delivery's words as the rules see them: lines with their heading, text that addresses a judge left out.

A line is a sentence of prose, a list point or a table row, verbatim, so that it can be quoted. Headings are labels of what stands under
them and never lines of their own: a heading without content says nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import field, frozen

from finassay.api.grading import Document, Material, TableView

MAX_TEXT = 400_000
MAX_LINE = 600

_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s+(.+?)\s*#*|\*\*([^*\n]{2,80})\*\*:?)\s*$")
_SENTENCE = re.compile(r"(?<=[.!?;])[\"')\]*_]*\s+(?=[A-Z0-9(*`\"'])")
_ADDRESSES_JUDGE = re.compile(
    r"\b(?:judges?|graders?|evaluators?|rubrics?|language model|llm|assistant grading)\b"
    r"|(?:^|[\W_]|\b(?:please|must|should|to|you|and)\s+)(?:grade|score|rate|mark|assign|award|give)\s+"
    r"(?:this|it|us|me|the (?:report|delivery|work|strategy)|full|maximum|top|a?\s*(?:level|grade|score)|[0-4]\b(?!\s*(?:%|bp|names"
    r"|stocks)))"
    r"|\b(?:ignore|disregard|forget)\b[^.\n]{0,40}\b(?:instructions?|above|previous)\b|\bfull marks\b|\b(?:level|grade)\s*(?:[:=]"
    r"|is)?\s*[0-4]\b",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"\b(?:will (?:be|add|test|run|check|do|provide|follow)|would (?:need|be worth)|should be (?:added|tested|done)|could be (?:tested"
    r"|added|done)|to be (?:done|added|tested)|future work|next step|later version"
    r"|not (?:yet|been|done|tested|run|performed)|have not|has not|was not|were not|did not|didn't|wasn't|haven't|upon request|on"
    r" request|planned|to ?do)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:19|20)\d{2}(?:-\d{2}){0,2}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s+\d{1,2}\b|\b\d{1,2}\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep"
    r"|Oct|Nov|Dec)[a-z]*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])[-+−]?[$€£]?\d[\d,]*(?:\.\d+)?\s?(?:%|bps?\b|x\b)?")
_EARLIER = re.compile(r"\(turn \d+\)$")
"""An earlier version of the last report, which counts for nothing here."""
_LIST = re.compile(r"^(?:[-*+•]|\d{1,3}[.)]|[a-z]\))\s")
_ALONE = re.compile(r"^[\s|:*_`#>-]*$")


@frozen
class Line:
    """One sentence, list point or table row."""

    text: str
    where: str
    heading: str = ""
    row: bool = False

    @property
    def low(self) -> str:
        return self.text.lower()

    @property
    def numbers(self) -> int:
        """Numbers in the line that are no dates."""
        return len(_NUMBER.findall(_DATE.sub(" ", self.text)))

    @property
    def promised(self) -> bool:
        """The line says that something was not done, or will be."""
        return bool(_PROMISE.search(self.text))

    @property
    def words(self) -> int:
        return len(re.findall(r"[A-Za-z]{2,}", self.text))


def lines_of(document: Document) -> Iterator[Line]:
    """The lines of a document under their headings; wrapped prose is joined first. Bounded; text in fences is left out."""
    heading = ""
    for block, row in _blocks(document.text[:MAX_TEXT]):
        match = None if row else _HEADING.match(block[:200])
        if match:
            heading = (match[1] or match[2]).lower()
            continue
        for piece in [block] if row else _SENTENCE.split(block):
            piece = piece.strip()[:MAX_LINE]
            if piece and not _ALONE.match(piece) and (row or re.search("[A-Za-z]", piece)) and not addresses_judge(piece):
                yield Line(piece, document.where, heading, row)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Headings, table rows (true) and paragraphs or list points, each on one line."""
    paragraph: list[str] = []
    fenced = False
    for raw in [*text.split("\n"), ""]:
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
            continue
        row = line.startswith("|")
        starts = not line or row or bool(_LIST.match(line)) or bool(_HEADING.match(raw[:200]))
        if starts and paragraph:
            yield " ".join(paragraph), False
            paragraph = []
        if fenced or not line:
            continue
        if row or _HEADING.match(raw[:200]):
            yield line, row
        elif sum(map(len, paragraph)) < 20 * MAX_LINE:
            paragraph.append(line)


def addresses_judge(text: str) -> bool:
    """Text that speaks to whoever grades is data about nothing; it earns and costs nothing."""
    return bool(_ADDRESSES_JUDGE.search(text))


@frozen(eq=False)
class Text:
    """Lines of one or more documents, to be searched."""

    lines: tuple[Line, ...] = field(repr=False)

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "Text":
        return cls(tuple(line for document in documents for line in lines_of(document)))

    def find(self, pattern: str, *, number: bool = False, done: bool = True, heading: str = "", words: int = 0) -> list[Line]:
        """Lines in which `pattern` occurs (case-insensitive): with a number, not merely promised or denied, under a heading that matches,
        of at least so many words."""
        wanted = re.compile(pattern, re.IGNORECASE)
        under = re.compile(heading, re.IGNORECASE) if heading else None
        return [
            line
            for line in self.lines
            if wanted.search(line.text)
            and (not number or line.numbers)
            and (not done or not line.promised)
            and (under is None or under.search(line.heading))
            and line.words >= words
        ]

    def under(self, heading: str) -> list[Line]:
        """Lines whose heading matches."""
        wanted = re.compile(heading, re.IGNORECASE)
        return [line for line in self.lines if wanted.search(line.heading)]

    def has_section(self, heading: str, words: int = 12) -> bool:
        """A heading with at least so many words under it."""
        return sum(line.words for line in self.under(heading)) >= words

    def rows(self, heading: str = "") -> list[Line]:
        """Body rows of tables, optionally under a heading that matches."""
        found = [line for line in (self.under(heading) if heading else self.lines) if line.row]
        return [row for row in found if row.numbers or re.search(r"[A-Za-z]", row.text)]

    @property
    def words(self) -> int:
        return sum(line.words for line in self.lines)


@frozen(eq=False)
class Reading:
    """The material sorted for the rules."""

    material: Material
    report: Text
    """The last report."""
    last: Text
    """The last report and the agent's last message: what the user goes by."""
    said: Text
    """All of the agent's messages."""
    user: Text
    code: Text
    everything: Text
    """Report and all the agent's messages."""

    @classmethod
    def of(cls, material: Material) -> "Reading":
        agent = [message for message in material.messages if not message.where.startswith("u")]
        user = [message for message in material.messages if message.where.startswith("u")]
        reports = [report for report in material.reports if not _EARLIER.search(report.where)]
        return cls(
            material,
            Text.of(reports),
            Text.of([*reports, *agent[-1:]]),
            Text.of(agent),
            Text.of(user),
            _code(material.code),
            Text.of([*reports, *agent]),
        )

    def tables(self, role: str) -> list[TableView]:
        """Delivered tables in a role; a table may have several, separated by commas."""
        return [table for table in self.material.tables if role in table.role.replace(" ", "").split(",")]


def _code(documents: Sequence[Document]) -> Text:
    return Text(
        tuple(
            Line(raw.strip()[:MAX_LINE], document.where)
            for document in documents
            for raw in document.text[:MAX_TEXT].split("\n")
            if raw.strip() and not addresses_judge(raw[:MAX_LINE])
        )
    )
