"""Headline figures in prose: which number a metric's name belongs to, clause by clause."""

import math
import re
from collections.abc import Iterator

from attrs import frozen

from finassay_checks.figures.values import printed
from finassay_checks.model import MetricName
from finassay_checks.roles import names

MAX_TEXT = 400_000
_NUM = r"[-+−–]?(?:US\$|[$€£])?[-+−–]?\d[\d,]*(?:\.\d+)?\s?(?:%|x\b|bps?\b|bp\b|(?:million|mn|m|k|bn)\b)?"
_LINK = (
    r"(?:[\s:=~≈(*_`]|\bof\b|\bwas\b|\bis\b|\bat\b|\babout\b|\baround\b|\broughly\b|\bratio\b|\bcomes? to\b|\bstood at\b"
    r"|\breached\b|\btotal(?:led)?\b|\baveraged?\b|\bnet\b|\brf ?= ?0\b|[),]){0,9}?"
)
_YEAR = r"(?:a year|per year|per annum|annually|p\.?\s?a\.?|/yr|annuali[sz]ed|a yr)"

_AFTER: tuple[tuple[MetricName, str], ...] = (
    ("sharpe", r"\bsharpe(?: ratio)?"),
    ("sortino", r"\bsortino(?: ratio)?"),
    ("max_drawdown", r"\b(?:max(?:imum)?\.?|worst|largest|deepest)[ -](?:peak-to-trough )?draw-?down"),
    (
        "annual_return",
        r"\b(?:cagr|annuali[sz]ed (?:net )?return|annual (?:net )?return|compound annual (?:growth|return)(?: rate)?"
        r"|return (?:a|per) year|net annual return)",
    ),
    ("total_return", r"\b(?:total|cumulative) (?:net )?return"),
    ("annual_vol", r"\b(?:annuali[sz]ed |annual |realised |realized )*(?:volatility|vol)"),
    ("annual_return", r"\b(?:it |strategy |portfolio )?return(?:s|ed)?"),
    ("trades", r"\b(?:number of (?:trades|fills|orders|executions)|trades? count|trades|fills|orders)(?: \([a-z ]{1,40}\))?[:=*_ ]{1,4}"),
    ("turnover", r"\b(?:one-way |two-way |annual |average |yearly )*turnover"),
    ("win_rate", r"\b(?:win|hit) rate"),
    ("exposure", r"\b(?:average |mean )(?:exposure|invested)"),
    ("beta", r"\bbeta"),
    ("alpha", r"\balpha"),
    ("fees", r"\b(?:total|all) (?:trading |transaction )?(?:fees|costs|commissions)(?: paid)?"),
    ("fees", r"\b(?:costs|fees|commissions)(?: paid)?(?: on an? [$€£][\d,]+ \w+)?(?=[:=*_ ]{1,4}[$€£])"),
)
_BEFORE: tuple[tuple[MetricName, str], ...] = (
    ("sharpe", r"\s*sharpe\b"),
    ("max_drawdown", r"\s*(?:max(?:imum)?|worst|peak-to-trough) draw-?down"),
    ("annual_return", rf"(?:\s+net)?\s+{_YEAR}(?! turnover)"),
    ("annual_vol", r"\s+(?:annuali[sz]ed |annual )?(?:volatility|vol)\b(?! target)"),
    ("trades", r"\s+(?:trades|fills|orders|executions|transactions)\b(?!\s+(?:a|per) )"),
    ("turnover", r"\s+(?:one-way |two-way |annual )*turnover"),
    ("win_rate", r"\s+(?:win|hit) rate"),
    (
        "win_rate",
        r"\s+(?:of (?:them|the \w+|all \w+|\w+ (?:trades|trips|holdings|positions)) )?(?:made money|were (?:profitable|winners|winning))",
    ),
    ("total_return", r"\s+(?:total|cumulative|in total)\b(?: return)?"),
)
_AFTER_RE = tuple((metric, re.compile(rf"(?:{pattern}){_LINK}({_NUM})", re.I)) for metric, pattern in _AFTER)
# These names bind to the number behind them before a number is read as `11.1% a year`.
_FIRST_RE = tuple(
    (metric, pattern)
    for metric, pattern in _AFTER_RE
    if metric in ("sharpe", "sortino", "max_drawdown", "turnover", "win_rate", "exposure", "fees")
)
_BEFORE_RE = tuple((metric, re.compile(rf"({_NUM}){pattern}", re.I)) for metric, pattern in _BEFORE)
_NO_RETURN = re.compile(
    r"cost|fee|drag|trail|gap|beat|excess|outperform|underperform|lag|behind|ahead|alpha|turn ?over|rate|dividend|yield"
    r"|inflation|difference|better|worse",
    re.I,
)
_A_YEAR = re.compile(rf"{_YEAR}|annual|cagr", re.I)
_CLAUSE = re.compile(
    r";\s|\bwhile\b|\bwhereas\b|\bagainst\b|\bversus\b|\bvs\b\.?|\bcompared\b|\bcompares\b|\bbut\b|\bthan\b"
    r"|(?<=[a-z%\d]),\s(?=(?:and )?the (?:S&P|benchmark|index|equal))",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z*\-\[(\"$])|\n{2,}|\n(?=\s{0,6}(?:[-*+•]|\d{1,3}[.)])\s)|\n(?=#)")
_TARGET = re.compile(
    r"target|limit|threshold|\bcap\b|at most|no more than|risk[- ]free|per side|for example|would have|sub-?period|\bif\b"
    r"|worst (?:day|month)|break-?even|tolerance",
    re.I,
)
_OTHERS = re.compile(
    r"without the|no stop|gross|first half|second half|in[- ]sample|out[- ]of[- ]sample|previous version|earlier version"
    r"|version \d|\bv\d\b|\bat \d+ ?(?:bps?|bp)\b|zero[- ]cost|"
    r"\b(?:in|during|from|for|over|since) (?:the )?(?:(?:19|20)\d{2}s?)\b(?!-|–| to)|each year|best year|\byears? (?:of"
    r"|with)\b|t-?stat|standard error",
    re.I,
)
_SKIPPED = re.compile(
    r"sensitiv|robust|variant|sub-?period|by year|calendar year|limit(?:ation)?s|caveat|risk|method|rule|assum|setting|how it"
    r"|benchmark|comparison|appendix|data\b|source|version|what changed|"
    r"out[- ]of[- ]sample|decade|specification",
    re.I,
)
_SUMMARY = re.compile(
    r"summary|headline|key (?:result|figure|number)|tl;?dr|results?\b|performance|at a glance|bottom line|conclusion|metrics|trades", re.I
)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*)$", re.M)


_MONEY = r"(?:US)?[$€£]\s?\d[\d,]*(?:\.\d+)?\s?(?:(?:million|mn|m|k|bn)\b)?"
_GREW = re.compile(
    rf"({_MONEY})\s+(?:invested\s+)?(?:would have become|became|becomes?|grew (?:in)?to|grows? (?:in)?to|turn(?:ed|s) into|rose to)\s+(?:about |around )?({_MONEY})",
    re.I,
)


@frozen
class Said:
    """A number that a clause gives for a metric. `summary` marks text in a summary or results section."""

    metric: MetricName
    token: str
    sentence: str
    summary: bool


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, text below it) in order; the heading of what stands first is empty."""
    text = text[:MAX_TEXT]
    marks = [(m.start(), m.end(), m[1].strip()) for m in _HEADING.finditer(text)]
    yield "", text[: marks[0][0] if marks else len(text)]
    for (_, end, heading), following in zip(marks, [*(m[0] for m in marks[1:]), len(text)], strict=False):
        yield heading, text[end:following]


def _without_tables(text: str) -> str:
    kept, fenced = [], False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith("|"):
            kept.append(line[:4_000])
    return "\n".join(kept)


def _clause_figures(clause: str, sentence: str, summary: bool) -> Iterator[Said]:
    taken: list[tuple[int, int]] = []
    for match in _GREW.finditer(clause):
        stake, worth = (printed(match[i].replace("million", "m").replace("US", "")) for i in (1, 2))
        if stake is not None and worth is not None and stake.value > 0:
            taken.append(match.span())
            decimals = max(0, min(6, round(-math.log10(max(2 * worth.precision / stake.value, 1e-6)))))
            yield Said("total_return", f"{worth.value / stake.value - 1:.{decimals}f}", sentence, summary)
    for patterns in (_FIRST_RE, _BEFORE_RE, _AFTER_RE):
        for metric, pattern in patterns:
            for match in pattern.finditer(clause):
                start, end = match.span(1)
                if any(start < e and s < end for s, e in taken):
                    continue
                token = match[1].strip()
                following = clause[end : end + 12].lower()
                if re.match(r"\s*(?:day|month|session|name|stock|bps? |year|ticker|%? ?target)", following) and not re.match(
                    r"\s*a year", following
                ):
                    continue
                if metric == "trades" and ("." in token or "%" in token or re.fullmatch(r"(?:19|20)\d{2}", token)):
                    continue
                if metric in ("annual_vol", "max_drawdown", "annual_return", "total_return") and (
                    ("%" not in token and "." not in token) or token.endswith("x")
                ):
                    continue
                if metric == "annual_return" and (
                    _NO_RETURN.search(re.split(r"[,(:]", clause[max(start - 40, 0) : start])[-1]) or not _A_YEAR.search(sentence)
                ):
                    continue
                taken.append((start, end))
                yield Said(metric, token, sentence, summary)


def said(text: str) -> Iterator[Said]:
    """The headline's figures that a report's or message's prose gives, in order; benchmarks, variants, sub-periods and targets are
    left out."""
    for heading, body in sections(text):
        if heading and _SKIPPED.search(heading) and not re.search(r"result|summary|headline|performance", heading, re.I):
            continue
        summary = bool(_SUMMARY.search(heading)) or not heading
        for sentence in _SENTENCE.split(_without_tables(body)):
            sentence = " ".join(sentence.split())[:1_500]
            plain_sentence = sentence.replace("**", "").replace("`", "")
            if not re.search(r"\d", plain_sentence):
                continue
            for clause in _CLAUSE.split(plain_sentence):
                if clause and not _TARGET.search(clause) and not _OTHERS.search(clause) and not _speaks_of_benchmark(clause):
                    yield from _clause_figures(clause, sentence, summary)


def _speaks_of_benchmark(clause: str) -> bool:
    return bool(
        re.search(
            r"S&P|\bSPY\b|\bindex\b|benchmark|equal[- ]weight(?:ed)?\b|buy[- ]and[- ]hold|holding all|\ball (?:the )?\d+\b", clause, re.I
        )
    ) or (len(clause) < 60 and names.is_benchmark(clause))
