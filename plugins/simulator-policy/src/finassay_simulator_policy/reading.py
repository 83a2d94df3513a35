"""What the user sees of a delivery: a person who reads the report and glances at the files, and does not check trades row by row."""

import re
from collections.abc import Iterator

from attrs import frozen

from finassay.api.matching import sentences
from finassay.api.received import RESULTS, missing_results, missing_sections, shows_trades
from finassay.api.simulator import Excerpt, Scene
from finassay.api.strategy import Item
from finassay_simulator_policy.hearing import bounded, contradicted, touches

_PROSE = (".md", ".html", ".htm", ".txt", ".rst")
_UNREAD_REPORT = re.compile(r"(?:report|summary|write-?up|tearsheet)[^/]*\.(?:pdf|docx|ipynb|html?|pptx)$", re.I)
_TRADE_FILE = re.compile(
    r"(?:trade|fill|order|blotter|transaction|ledger|execution|round.?trip)[^/]*\.(?:csv|tsv"
    r"|xlsx|parquet|json|txt)$",
    re.I,
)
_SPEC_FILE = re.compile(r"(?:spec|rules?|config|settings|strategy|method)[^/]*\.(?:md|txt|csv|json|ya?ml|toml)$", re.I)
_DATE = re.compile(
    r"\b(?:19|20)\d\d-\d\d-\d\d\b|\b\d{1,2}[ /.](?:\w{3,9}|\d{1,2})[ /.,]+(?:19|20)\d\d\b"
    r"|\b\w{3,9} \d{1,2}, ?(?:19|20)\d\d\b"
)
_SIDE = re.compile(r"\b(?:buys?|bought|sells?|sold|long|entry|entered|exit|exited|purchased?|filled)\b")
_PRICE = re.compile(r"\d\.\d|[$€£] ?\d|\bprice\w* (?:of )?\d")
_TABLE_HEAD = re.compile(r"(?=.*date)(?=.*(?:price|px)).*[,|;\t]")
_RULE_HEADING = re.compile(r"\b(?:method\w*|rules?|specification|assumptions?|risk (?:control|management))\b", re.I)
_OTHER_HEADING = re.compile(
    r"\b(?:sensitiv\w*|robust\w*|variants?|alternatives?|compar\w*|benchmarks?|limit\w*|caveats?|risks?|results?"
    r"|performance|validation"
    r"|periods?|sample|next|appendix|trades?|data|quality|sources?|metrics|references|history|changes)\b",
    re.I,
)
_RULE_HEADING_WEAK = re.compile(
    r"\b(?:strategy|spec|approach|design|implementation|set ?up|construction|definition|how|configuration|parameters"
    r"|settings|choices)\b",
    re.I,
)
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s+(?P<marked>.+)|\*\*(?P<bold>[^*]{2,80})\*\*:?\s*)$")
MAX_CITATIONS = 8


@frozen
class Source:
    """Something that can be cited: an agent's message or a delivered file."""

    id: str
    text: str
    unread: bool = False
    """A file of which nothing is shown, or not all."""


@frozen
class Received:
    """What the user has in hand."""

    figures_missing: tuple[str, ...]
    trades: bool
    sections_missing: tuple[str, ...]
    report: bool
    citations: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return not self.figures_missing and self.trades and self.report and not self.sections_missing


def plain(excerpt: Excerpt) -> str:
    """The text of a file, HTML reduced to headings and words."""
    if not excerpt.path.lower().endswith((".html", ".htm")):
        return excerpt.text
    text = re.sub(r"<(script|style)\b[^>]*>.*?</\1\s*>", " ", excerpt.text, flags=re.S | re.I)
    text = re.sub(r"<h[1-6]\b[^>]*>(.*?)</h[1-6]\s*>", r"\n# \1\n", text, flags=re.S | re.I)
    return re.sub(r"<[^>]{0,2000}>", " ", re.sub(r"<(?:/p|/tr|/li|br)\b[^>]*>", "\n", text, flags=re.I))


def sources(scene: Scene) -> tuple[Source, ...]:
    """Files first, newest first, then messages, the last first."""
    shown = {excerpt.path: excerpt for excerpt in scene.excerpts}
    files = [Source(path, plain(excerpt), excerpt.truncated) for path, excerpt in shown.items() if path in scene.files]
    files += [Source(path, "", True) for path in scene.files if path not in shown]
    messages = [Source(m.id, bounded(m.text)) for m in reversed(scene.conversation.of("agent"))]
    return (*files, *messages)


def figures(text: str) -> frozenset[str]:
    """Which of return, Sharpe ratio, maximum drawdown and number of trades stand in a text with a number close by."""
    norm = " ".join(sentence.norm for sentence in sentences(text) if not sentence.question)
    found = set()
    for name, pattern in RESULTS.items():
        for hit in re.finditer(pattern, norm):
            if re.search(r"\d", norm[hit.end() : hit.end() + 160]) or re.search(r"\d", norm[max(0, hit.start() - 12) : hit.start()]):
                found.add(name)
                break
    return frozenset(found)


def tells_results(text: str) -> bool:
    """Whether a message reports a backtest, files or not."""
    found = figures(text)
    return len(found) >= 3 and "Sharpe ratio" in found


def lists_trades(text: str) -> bool:
    """Whether a text shows trades with dates and prices: a table headed by both, or a sentence about a dated purchase or sale."""
    for line in text.splitlines():
        if _TABLE_HEAD.match(line[:2000].lower()) and _DATE.search(text):
            return True
    return any(_DATE.search(s.norm) and _SIDE.search(s.norm) and _PRICE.search(s.norm) for s in sentences(text))


def received(scene: Scene) -> Received:
    """What is there and what is missing, with the sources that show it."""
    known = sources(scene)
    found = {source.id: figures(source.text) for source in known}
    named = frozenset().union(*found.values()) if found else frozenset()
    trade_sources = [s for s in known if (lists_trades(s.text) if s.text else _TRADE_FILE.search(s.id))]
    reports = [s for s in known if _is_report(s)]
    best = min(reports, key=lambda s: len(_sections_missing(s)), default=None)
    with_figures = [s for s in known if found[s.id]]
    cited = dict.fromkeys(s.id for s in (*([best] if best else []), *_enough(with_figures, found), *trade_sources[:2]))
    texts = "\n".join(s.text for s in known if s.id in cited)
    unseen = any(s.unread for s in known if s.id in cited)
    return Received(
        figures_missing=tuple(name for name in RESULTS if name not in named or name in missing_results(texts)),
        trades=bool(trade_sources) and (unseen or shows_trades(texts)),
        sections_missing=_sections_missing(best) if best else missing_sections(""),
        report=best is not None,
        citations=tuple(cited)[:MAX_CITATIONS],
    )


def _enough(candidates: list[Source], found: dict[str, frozenset[str]]) -> Iterator[Source]:
    """As few sources as name all figures together."""
    left = frozenset(RESULTS)
    for source in candidates:
        if found[source.id] & left:
            left -= found[source.id]
            yield source


def _is_report(source: Source) -> bool:
    if not source.text:
        return bool(_UNREAD_REPORT.search(source.id))
    prose = source.id.lower().endswith(_PROSE) or "." not in source.id
    return prose and len(missing_sections(source.text)) <= 2 and len(source.text) > 200


def _sections_missing(source: Source) -> tuple[str, ...]:
    """Of a report that is not shown whole only the beginning can be missed: its summary."""
    missing = missing_sections(source.text)
    if not source.text:
        return ()
    return tuple(name for name in missing if name == "summary") if source.unread else missing


@frozen
class Off:
    """A part of the delivery that is not as the user wants it, and where it shows."""

    item: Item
    where: str
    unmentioned: bool = False
    """The user told it, and the delivery does not speak of it at all."""


def off(scene: Scene, message: str, delivered: bool) -> tuple[Off, ...]:
    """Items that the newest report, or the last message about it, visibly contradicts.

    The rule sections of the report decide; where they do not speak of an item the message does, then the rest of the report, in which
    numbers are results.
    """
    if not delivered:
        return ()
    last = scene.conversation.last("agent")
    papers = _papers(scene)
    rules = [(path, text) for path, text, _ in papers] + ([(last.id, message)] if last else [])
    others = [(path, text) for path, _, text in papers]
    found = []
    for item in scene.task.belief.items:
        places = rules if item.number is not None else rules + others
        verdicts = ((where, contradicted(item, text)) for where, text in places)
        where, verdict = next((pair for pair in verdicts if pair[1] is not None), ("", None))
        if verdict:
            found.append(Off(item, where))
    return tuple(found)


def unmentioned(scene: Scene) -> tuple[Off, ...]:
    """Items that the user told and of which neither files nor the last reply say a word, judged only on a report that is shown whole."""
    report = next((e for e in scene.excerpts if e.path.lower().endswith(_PROSE)), None)
    if report is None or any(e.truncated for e in scene.excerpts) or len(scene.excerpts) < len(scene.files):
        return ()
    last = scene.conversation.last("agent")
    seen = "\n".join((*(plain(e) for e in scene.excerpts), bounded(last.text) if last else ""))
    told = (item for item in scene.task.belief.items if item.id in scene.stated)
    return tuple(
        Off(item, report.path, unmentioned=True)
        for item in told
        if contradicted(item, seen) is None and not any(touches(item.topics, s.text) for s in sentences(seen))
    )


def _papers(scene: Scene) -> list[tuple[str, str, str]]:
    """Path, rule sections and other text of the newest report and the newest rule table."""
    report = next((e for e in scene.excerpts if e.path.lower().endswith(_PROSE)), None)
    spec = next((e for e in scene.excerpts if _SPEC_FILE.search(e.path) and e is not report), None)
    found = []
    if report is not None:
        rules, rest = by_section(plain(report))
        found.append((report.path, rules, rest))
    if spec is not None:
        found.append((spec.path, plain(spec), ""))
    return found


def by_section(text: str) -> tuple[str, str]:
    """The text under headings about rules and method, and the text under neither those nor headings about results, variants and data."""
    rules: list[str] = []
    rest: list[str] = []
    into: list[str] | None = rest
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            into = _shelf(heading["marked"] or heading["bold"], rules, rest)
        elif into is not None:
            into.append(line)
    return "\n".join(rules), "\n".join(rest)


def _shelf(heading: str, rules: list[str], rest: list[str]) -> list[str] | None:
    if _RULE_HEADING.search(heading):
        return rules
    if _OTHER_HEADING.search(heading):
        return None
    return rules if _RULE_HEADING_WEAK.search(heading) else rest
