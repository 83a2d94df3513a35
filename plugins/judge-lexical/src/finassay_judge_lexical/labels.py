"""Label questions: boundary cases of 2.10, benchmark cases of 3.4, undecided strategy items, and anything else by its words."""

import re
from collections.abc import Mapping
from itertools import pairwise

from attrs import frozen

from finassay.api.grading import Answer, LabelQuestion, Quote
from finassay.api.matching import normalise
from finassay.api.verdict import Json
from finassay_judge_lexical.text import Line, Reading, Text

HANDLING = (
    r"\b(?:carr(?:y|ied|ies)|skip(?:s|ped)?|sold|sell|exclud\w+|drop(?:s|ped)?|held|hold|stays?|remain\w*|cash|filled? (?:forward"
    r"|with)|wait\w*|next (?:session|close|rebalance)|alphabetical\w*"
    r"|first|lower|break|broken|resolved|start(?:s|ed)? (?:on|in|after|only)|no (?:signal|trade|order|position)|not (?:ranked|traded"
    r"|bought|eligible)|adjust\w+|includ\w+|again|may|only|fewer)\b"
)


@frozen
class Case:
    """How a case is spoken of, and how code handles it."""

    words: str
    code: str = r"(?!)"


BOUNDARY: Mapping[str, Case] = {
    "missing-price": Case(
        r"missing (?:price|close|value|data)|no price|price is (?:missing|not available)|no close|without a price",
        r"\.ffill\(|\.dropna\(|isna\(\)|notna\(\)|fillna\(",
    ),
    "delisting": Case(
        r"delist\w*|\bhalt\w*|suspend\w*|acquired|bankrupt\w*|stops? trading|drop(?:s|ped)? out of the (?:index|universe)", r"delist|halted"
    ),
    "ties": Case(
        r"\bties?\b|\btied\b|same (?:score|rank|value)|equal (?:scores?|ranks?)",
        r"method\s*=\s*[\"'](?:first|min|dense)|kind\s*=\s*[\"'](?:stable|mergesort)|nlargest\(|lexsort|sort_values\(\[|key=lambda",
    ),
    "few-candidates": Case(
        r"fewer (?:than|names|candidates|stocks)|not enough (?:names|candidates|stocks)|less than \d+ (?:names|candidates)|empty"
        r" slots?|too few",
        r"min\([^)]*len\(|len\([^)]*\)\s*<|if not (?:picks|chosen|selected|names)",
    ),
    "all-cash": Case(
        r"all[- ]cash|(?:entirely|fully|wholly|everything|whole portfolio) (?:in|to) cash|moves? to cash|goes? to cash|stays? in cash"
        r"|in cash (?:while|until|when)|cash spell",
        r"to_cash|in_cash|risk_off",
    ),
    "warm-up": Case(
        r"warm[- ]?up|enough history|full (?:year|history|window)|first (?:signal|decision|rebalance|trade)|history (?:is|of)"
        r" .{0,30}(?:needed|required)",
        r"min_periods|dropna\(|\.rolling\(|warm|len\([^)]*\)\s*<",
    ),
    "corporate-actions": Case(r"\bsplits?\b|dividends?|adjusted (?:close|price)|corporate action", r"adj_?close|adjusted|split"),
    "re-entry": Case(
        r"re-?ent(?:er|ry)|comes? back|bought (?:back|again)|buy (?:back|again)|after (?:a|the) stop|until the next rebalance"
        r"|re-?invest\w*",
        r"re_?entry|cooldown|stopped",
    ),
}
NEEDS: Mapping[str, tuple[str, ...]] = {"re-entry": ("risk", "timing"), "all-cash": ("risk", "timing")}
"""Cases that cannot occur in a strategy without such a component."""

BENCHMARK: Mapping[str, str] = {
    "named": (
        r"\bbenchmark|\bindex\b|s&p|\bspy\b|buy[- ]and[- ]hold|holding all|equal[- ]weight(?:ed)?\b.{0,40}(?:all|universe|basket"
        r"|names|\d+)|russell|nasdaq"
    ),
    "claim": (
        r"\b(?:beats?|ahead|behind|better|worse|out-?perform\w*|under-?perform\w*|trails?|lag(?:s|ged)?|excess|in line|more than"
        r"|less than|gap|against|versus|vs\.?)\b"
    ),
    "numbers": r"\d",
    "fits-universe": (
        r"equal[- ]weight|same (?:names|stocks|universe|\d+|eight|twenty)|all (?:the )?(?:\d+|names|stocks|eight|twenty)"
        r"|of the universe|buy[- ]and[- ]hold of|s&p|large caps?|\bspy\b|us stocks"
    ),
}


def answer_labels(question: LabelQuestion, reading: Reading, facts: Mapping[str, Json]) -> Answer:
    """A label for every case; labels that say that something is there carry the line that says it."""
    if set(question.cases) <= set(BOUNDARY) and "handled" in question.labels:
        found = {case: _boundary(case, reading, facts) for case in question.cases}
    elif set(question.cases) <= set(BENCHMARK) and {"yes", "no"} <= set(question.labels):
        found = _benchmark(tuple(question.cases), reading)
    else:
        found = {case: _by_words(meaning, question.labels, reading) for case, meaning in question.cases.items()}
    return Answer(
        "labelled by the stated rules",
        labels={case: label for case, (label, _) in found.items()},
        case_quotes={case: Quote(line.text, line.where) for case, (_, line) in found.items() if line is not None},
    )


def _boundary(case: str, reading: Reading, facts: Mapping[str, Json]) -> tuple[str, Line | None]:
    known = facts.get("components_with_rules")
    if case in NEEDS and isinstance(known, list) and not set(known) & set(NEEDS[case]):
        return "not applicable", None
    spoken = reading.everything.find(BOUNDARY[case].words, done=False)
    handled = [line for line in spoken if Text((line,)).find(HANDLING, done=False) and line.words >= 5]
    if handled:
        return "handled", handled[0]
    code = reading.code.find(BOUNDARY[case].code, done=False)
    if code:
        return "handled", code[0]
    return ("mentioned", spoken[0]) if spoken else ("absent", None)


def _benchmark(cases: tuple[str, ...], reading: Reading) -> dict[str, tuple[str, Line | None]]:
    named = [
        line
        for line in reading.last.find(BENCHMARK["named"], done=False)
        if not Text((line,)).find(r"\bno benchmark|without a benchmark", done=False)
    ]
    under = reading.last.under(r"benchmark|comparison|against")
    spoken = reading.last.lines
    following = [after for line, after in pairwise(spoken) if line in named and not after.row]
    about = Text((*named, *under, *following))
    hits = {
        "named": named or under,
        "claim": [line for line in about.find(BENCHMARK["claim"], done=False) if not line.row and line.words >= 4],
        "numbers": [line for line in about.lines if line.numbers],
        "fits-universe": about.find(BENCHMARK["fits-universe"], done=False),
    }
    return {case: ("yes", hits[case][0]) if hits[case] else ("no", None) for case in cases}


_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "from",
        "have",
        "each",
        "one",
        "once",
        "its",
        "are",
        "into",
        "only",
        "but",
        "not",
        "any",
        "all",
        "use",
        "our",
        "your",
        "their",
        "than",
        "then",
        "when",
        "while",
        "per",
    ]
)
_AFFIRMATIVE = ("matched", "yes", "present", "handled", "mentioned")
_NEGATIVE = ("missing", "no", "absent", "none")


def _stems(text: str) -> set[str]:
    words = re.findall(r"[a-z]{3,}|\d+(?:\.\d+)?(?:%|bp)?", normalise(text))
    return {word if word[0].isdigit() else word[:5] for word in words if word not in _COMMON}


def _by_words(meaning: str, labels: tuple[str, ...], reading: Reading) -> tuple[str, Line | None]:
    """Affirmative if one line of report, last message or code holds half of the meaning's words and every number of it; else negative."""
    wanted = _stems(meaning)
    numbers = {word for word in wanted if word[0].isdigit()}
    best: Line | None = None
    share = 0.0
    for line in (*reading.last.lines, *reading.code.lines[:5_000]):
        held = _stems(line.text)
        if numbers <= held and wanted and len(wanted & held) / len(wanted) > share:
            best, share = line, len(wanted & held) / len(wanted)
    yes = next((label for label in _AFFIRMATIVE if label in labels), labels[0])
    no = next((label for label in _NEGATIVE if label in labels), labels[-1])
    return (yes, best) if best is not None and share >= 0.5 else (no, None)
