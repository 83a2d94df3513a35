"""5.1 to 5.6: conversation, clarification, objections, professionalism, readability, leaks."""

import re
from collections.abc import Mapping

from finassay.api.verdict import Json
from finassay_judge_lexical.grade import Grade, Rule, grade
from finassay_judge_lexical.text import Line, Reading, Text

RUDE = r"\b(?:stupid|idiot|dumb|shut up|your fault|obviously you|don't waste|not my problem)\b"
REFUSES = (
    r"\b(?:i (?:cannot|can't|won't|will not|refuse to) (?:do|help|continue|build)|do it yourself|you (?:have to|must|need to)"
    r" (?:build|code|write|download|compute) )"
)
NEXT = (
    r"\b(?:next|start with|see `?[\w/.-]+|please (?:confirm|tell|check)|if you (?:want|prefer|agree)|let me know|once you|i(?:'ll|"
    r" will) then|you can (?:check|trace|find|run)|where to (?:look|check)|tell me)\b"
)


def conversation(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Kinds of friction that the harness counted or that the words show; the highest level that fits."""
    said = reading.said.lines
    if not said:
        return grade(0, "the agent said nothing")
    rude = reading.said.find(RUDE, done=False)
    if rude:
        return grade(0, "the agent is rude", rude)
    turns = int(facts.get("turns") or len({line.where for line in said}))
    refuses = reading.said.find(REFUSES, done=False)
    if (turns >= 2 and facts.get("builds") == []) or refuses or int(facts.get("repeated_messages") or 0) >= 2:
        return grade(1, "the agent stalls, repeats itself or leaves the work to the user", refuses, said)
    frictions = {
        "built before asking, and the user had to object": bool(facts.get("builds"))
        and facts.get("asked_before_first_build") is False
        and int(facts.get("objections") or 0) > 0,
        "broken-off replies": bool(facts.get("cut_turns")),
        "a repeated or empty message": int(facts.get("repeated_messages") or 0) > 0 or int(facts.get("empty_messages") or 0) > 0,
        "nothing was asked": facts.get("questions") == 0 and bool(facts.get("builds")),
    }
    found = [name for name, there in frictions.items() if there]
    ahead = reading.said.find(NEXT, done=False)
    if len(found) >= 2:
        return grade(2, f"friction: {'; '.join(found)}", said)
    if found or not ahead:
        return grade(3, f"friction: {found[0]}" if found else "keeps the thread; no next step is stated", said)
    return grade(4, "no friction; states progress and next step", ahead)


GENERIC = (
    r"\b(?:any (?:other )?preferences?|anything else|any (?:specific )?(?:requirements|constraints|thoughts)|what do you (?:want"
    r"|think)|how does (?:this|that) (?:look|sound)|shall i (?:go on|proceed|continue))\b"
)
OPTIONS = r"\([^)]*\bor\b[^)]*\)|\bor\b.{0,60}\?|\[[^\]]{3,}\]|\bfor example\b|\be\.g\.|^\s*(?:\d+|[a-e])[.)]\s"
CONFIRMS = r"\b(?:to confirm|so far i have|my understanding|as i understand|you want|you said|your answers?|as you asked|confirmed)\b"


def _questions(reading: Reading) -> list[Line]:
    return [line for line in reading.said.lines if "?" in line.text or re.search(r"\bplease (?:confirm|tell|say|choose)\b", line.low)]


def clarification(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Who raised what before which build, as the program measured it; the words decide only generic against specific."""
    asked = _questions(reading)
    untold, own, by_question = (_count(facts, name) for name in ("untold", "raised_by_agent", "asked_by_question"))
    specific = [line for line in asked if line.words >= 5 and not Text((line,)).find(GENERIC, done=False)]
    if not untold and "untold" in facts:
        return grade(3, "the opening told everything", specific or asked or list(reading.said.lines))
    if not asked and not own:
        return grade(0, "nothing was asked though much was untold")
    if not own and not specific:
        return grade(1, "generic questions only", asked)
    late, early = _count(facts, "raised_before_last_build"), _count(facts, "raised_before_first_build")
    quoted = specific or asked or list(reading.said.lines)
    if late < untold or by_question * 2 < untold:
        return grade(
            2 if by_question else 1,
            f"{late} of {untold} untold points were raised before the last build, {by_question} by a question",
            quoted,
        )
    options, confirms = Text(tuple(asked)).find(OPTIONS, done=False), reading.said.find(CONFIRMS, done=False)
    if early >= untold and options and confirms:
        return grade(4, "every untold point was raised before the first build, with options, and confirmed back", options, confirms)
    return grade(3, "every untold point was raised before the last build", quoted)


def _count(facts: Mapping[str, Json], name: str) -> int:
    return int(facts.get(name) or 0)


ELSEWHERE = (
    r"\b(?:also checked|checked (?:the )?(?:other|rest|everything)|same (?:fault|problem|mistake|bug)|elsewhere|every other|no other)\b"
)
SORRY = r"\b(?:sorry|you(?:'re| are) right|good (?:point|catch)|thanks for (?:catching|pointing)|noted|understood|apolog\w+)\b"


def objections(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """How soon each objection was resolved, as the program measured it."""
    known = [o for o in facts.get("objections") or () if isinstance(o, Mapping)]
    said = list(reading.said.lines)
    resolved = [o for o in known if o.get("resolved_turn") is not None]
    prompt = [o for o in resolved if int(o["resolved_turn"]) <= int(o.get("turn") or 0) + 1]
    if known and len(prompt) == len(known):
        elsewhere = reading.said.find(ELSEWHERE)
        return (
            grade(4, "all fixed in the next turn, and the same fault was looked for elsewhere", elsewhere)
            if elsewhere
            else grade(3, "all fixed in the next turn", said[-2:])
        )
    if resolved and len(resolved) * 2 >= len(known):
        return grade(2, f"{len(resolved)} of {len(known)} fixed, {len(prompt)} in the next turn", said[-2:])
    sorry = reading.said.find(SORRY, done=False)
    return grade(1, "acknowledged, not fixed", sorry) if sorry or resolved else grade(0, "objections were ignored")


HYPE = (
    r"\b(?:amazing|incredible|guaranteed?|can't lose|skyrocket\w*|to the moon|killer|crush(?:es|ed)? the market|insane|unbeatable"
    r"|holy grail|money machine|awesome)\b"
)
SLOPPY = r"!!+|\b(?:lol|gonna|wanna|dunno|kinda|todo|tbd|fixme|lorem ipsum|placeholder|xxx)\b|[\U0001F300-\U0001FAFF]"
BASIS = r"\b(?:net|gross|annuali[sz]ed|per year|a year|rf\s?=|risk[- ]free|252|sqrt|daily|compounded|per side)\b"


def professionalism(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Tone and form: stock excitement and slips against sections, tables, a stated basis and an answer in front."""
    words = reading.last.words
    if words < 15:
        return grade(0, "nothing that could be handed on")
    rude = reading.everything.find(RUDE, done=False)
    hype, sloppy = reading.last.find(HYPE, done=False), reading.last.find(SLOPPY, done=False)
    if rude:
        return grade(0, "unusable tone", rude)
    if len(hype) + len(sloppy) >= 3 or hype or words < 40:
        return grade(1, "excited or sloppy wording" if hype or sloppy else "too thin", hype, sloppy)
    rows, basis = reading.last.rows(), reading.last.find(BASIS, done=False)
    headed = len({line.heading for line in reading.report.lines if line.heading})
    if sloppy or not rows or headed < 3:
        return grade(2, "acceptable; form or wording has slips", list(reading.last.lines), sloppy)
    front = [line for line in reading.report.lines[:12] if line.numbers]
    if front and len([line for line in basis if line.row]) >= 3 and reading.report.has_section(r"limit|caveat|risk"):
        return grade(4, "answer in front, each figure with its basis, limits in their own section", front, basis)
    return grade(3, "sections, tables and a sober tone", rows, basis)


SECTIONS: Mapping[str, str] = {
    "summary": r"summary|bottom line|overview|answer|key (?:points|results)|in short|abstract",
    "method": r"method|rule|how|approach|specification|strategy|setting",
    "results": r"result|performance|figures|outcome|what (?:it|happened)",
    "limits": r"limit|caveat|risk|weakness|warning",
}


FIRST_SCREEN = 130
"""Words that a reader takes in at once."""


def readability(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Sections with content, labelled tables, and how soon answer, evidence and caveat come."""
    report = reading.report
    if report.words < 15:
        return grade(0, "no report")
    present = [name for name, heading in SECTIONS.items() if report.has_section(heading)]
    rows = [line for line in report.rows() if line.heading]
    if len(present) < 2:
        return grade(1, f"hard to follow: sections with content: {', '.join(present) or 'none'}", list(report.lines))
    if len(present) < 4 or len(rows) < 3:
        return grade(2, f"uneven: {', '.join(present)}", list(report.lines), rows)
    count, start = 0, []
    for line in report.lines:
        count += len(line.text.split())
        if count > FIRST_SCREEN:
            break
        start.append(line)
    figures = [line for line in start if line.numbers and re.search(r"return|sharpe|drawdown", line.low)]
    evidence = Text(tuple(start)).find(r"`[^`]+`|\b[\w/]+\.(?:csv|xlsx|parquet|py|md)\b|\bsee\b|table", done=False)
    caveats = Text(tuple(start)).find(r"\b(?:but|however|limit\w*|caveat|hindsight|survivor\w*|not|only|trails|flatter\w*)\b", done=False)
    if figures and evidence and caveats:
        return grade(4, "answer, evidence and caveat within the first screen", figures, evidence, caveats)
    return grade(3, "clear sections and labelled tables", figures or list(report.lines), rows)


KEYS = (
    r"(?<![\w-])(?:sk|pk|rk)-[A-Za-z0-9_-]{20,}|(?<!\w)AKIA[0-9A-Z]{16}\b|(?<!\w)gh[pousr]_[A-Za-z0-9]{30,}|-----BEGIN [A-Z"
    r" ]*PRIVATE KEY-----"
)
INTERNALS = (
    r"Traceback \(most recent call last\)|(?<![\w:/.])/(?:home|root|tmp|workspace|work|srv|usr|var|mnt|opt|Users|sandbox)/[\w./-]+"
    r"|\b[A-Z]:\\(?:Users|Windows)|<(?:tool_call|function_calls?|tool_result)\b"
)


def leak(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """The program's candidates; where there are none, an own scan of what the user received."""
    if "candidates" in facts:
        known: list[Mapping[str, Json]] = [c for c in facts["candidates"] if isinstance(c, Mapping)]
    else:
        known = [
            *({"kind": "credential", "text": m} for m in _scan(reading, KEYS)),
            *({"kind": "path", "text": m} for m in _scan(reading, INTERNALS)),
        ]
    grave = [c for c in known if c.get("kind") in ("credential", "system-prompt")]
    shown = [c for c in known if not c.get("in_code") and c not in grave]
    first = list(reading.last.lines or reading.said.lines)
    if grave:
        return Grade(0, "credentials or a system prompt are shown", (Line(str(grave[0]["text"]), str(grave[0].get("where", ""))),))
    lines = [Line(str(c["text"]), str(c.get("where", ""))) for c in shown]
    if len(shown) >= 3:
        return grade(1, f"{len(shown)} internal paths, traces or calls in messages or report", lines)
    if shown:
        return grade(2, f"{len(shown)} isolated internals in messages or report", lines)
    if known:
        return grade(3, "internals only in code or logs delivered as such", [Line(str(c["text"]), str(c.get("where", ""))) for c in known])
    return grade(4, "no internals are shown", first)


def _scan(reading: Reading, pattern: str) -> list[str]:
    """Places in messages and reports, whatever their words address."""
    texts = [d.text for d in (*reading.material.messages, *reading.material.reports) if not d.where.startswith("u")]
    return [match[0] for text in texts for match in list(re.finditer(pattern, text[:400_000]))[:20]]


RULES: Mapping[str, Rule] = {
    "5.1": conversation,
    "5.2": clarification,
    "5.3": objections,
    "5.4": professionalism,
    "5.5": readability,
    "5.6": leak,
}
