"""1.2 source traceability, 1.3 source diversity, 1.5 evidence grade match, 1.6 quality self-check disclosure."""

from collections.abc import Mapping

from finassay.api.verdict import Json
from finassay_judge_lexical.grade import Grade, Rule, grade, kinds
from finassay_judge_lexical.text import Line, Reading, Text

NAMED = (
    r"\b(?:yahoo|yfinance|bloomberg|refinitiv|crsp|compustat|polygon|tiingo|stooq|alpha ?vantage|nasdaq|nyse|fred|sec|edgar|skfolio"
    r"|bokeh|pytimetk|quandl|factset|simfin)\b"
    r"|\b(?:data ?set|data source|source|vendor|provider|package|library)\s*(?::|is|are|was|=|\|)\s*\S+"
)
ENDPOINT = (
    r"https?://\S+|\b(?:[\w.]+\.)?(?:load_\w+|download|get_\w*(?:data|prices|history)\w*|fetch_\w+|DataReader|history)\s*\("
    r"|\b\w+\.(?:datasets?|sampledata)\.\w+"
)
PARAMETERS = r"\b(?:19|20)\d{2}-\d{2}-\d{2}\b|\btickers?\b|\bsymbols?\b|\bstart\b|\bend\b|\bfields?\b|\bcolumns?\b|\bcloses?\b|\binterval\b"
VINTAGE = (
    r"\bsha-?256\b|\b[0-9a-f]{32,64}\b|\b(?:retrieved|accessed|downloaded|fetched)\b.{0,40}\d{4}|\b(?:version|v|=="
    r"|release)\s?\d+\.\d+|\b\w+ \d+\.\d+\.\d+\b"
)
SERIES = {
    "prices": r"price|close|ohlc|stock|equit",
    "benchmark": r"benchmark|index|spy|s&p|equal[- ]weight",
    "fundamentals": r"fundamental|earnings|filing|eps|book",
}


def _sources(reading: Reading, facts: Mapping[str, Json]) -> Text:
    """Text and code lines, and the rows of source tables that the program read."""
    rows = tuple(
        Line(" | ".join(str(v) for k, v in row.items() if k != "table"), str(row.get("table", "")), "sources", True)
        for row in facts.get("source_rows", ())
        if isinstance(row, Mapping)
    )
    heads = tuple(Line(raw, table.where, "sources", True) for table in reading.tables("sources") for raw in table.head.split("\n"))
    return Text((*reading.everything.lines, *reading.code.lines, *heads, *rows))


def traceability(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Endpoints (URL, loader, API call) for the kinds of series delivered, with parameters beside them and a vintage."""
    text = _sources(reading, facts)
    endpoints = text.find(ENDPOINT, done=False)
    named = text.find(NAMED)
    if not endpoints:
        return grade(1, "vendor or package names only, no endpoint", named) if named else grade(0, "no source is named")
    used = [name for name in SERIES if name == "prices" or reading.tables(name)]
    covered = [
        name
        for name in used
        if name == "prices"
        or any(_about(line, SERIES[name]) for line in endpoints)
        or text.find(rf"(?:{SERIES[name]}).{{0,60}}(?:of the|same|from the|universe)")
    ]
    sections = {(line.where, line.heading) for line in endpoints if "data" in line.heading or "source" in line.heading}
    beside = Text((*endpoints, *(line for line in text.lines if (line.where, line.heading) in sections)))
    parameters, vintage = beside.find(PARAMETERS, done=False), text.find(VINTAGE, done=False)
    if len(covered) < len(used):
        return grade(2 if len(covered) * 2 >= len(used) else 1, f"an endpoint for {', '.join(covered)} of {', '.join(used)}", endpoints)
    if not parameters:
        return grade(2, "endpoints without parameters", endpoints)
    if not vintage:
        return grade(3, "endpoints with parameters, no version, date of retrieval or file hash", endpoints, parameters)
    return grade(4, "endpoints with parameters and vintage", endpoints, parameters, vintage)


def _about(line: Line, pattern: str) -> bool:
    return bool(Text((line,)).find(pattern, done=False))


CROSS = (
    r"\b(?:cross[- ]?check\w*|second source|independent source|other source|compared (?:with|against|to) (?:an?|the)?\s*(?:second"
    r"|other|independent|\w+ (?:data|source|prices))|reconcil\w+|two sources)\b"
)


def diversity(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Named sources, and sentences that compare them with numbers."""
    named = _sources(reading, facts).find(NAMED)
    sources = facts.get("sources") or []
    if not named and not sources:
        return grade(0, "no source is named")
    compared = reading.everything.find(CROSS, number=True)
    if compared:
        differences = reading.everything.find(r"differ|ratio|within|agree|match|deviat", number=True)
        whole = reading.everything.find(r"\b(?:all|every|each)\b.{0,40}(?:names?|tickers?|stocks?|prices|series)")
        shared = [line for line in compared if line in differences and line in whole]
        if shared and differences:
            return grade(4, "every kind is cross-checked and the differences are reported", shared, differences)
        return grade(3, "one kind is cross-checked with numbers", compared)
    kinds_of_data = len({name for name, pattern in SERIES.items() if any(_about(line, pattern) for line in named)})
    if len(sources) >= 2 and kinds_of_data >= 2:
        return grade(2, "different sources for different kinds of data, nothing compared", named)
    return grade(1, "one source, nothing compared", named)


CENTRAL = (
    r"\b(?:survivorship[- ](?:bias[- ])?free|free (?:of|from) survivorship|no survivorship bias|no look-?ahead bias in the"
    r" universe|bias-free)\b"
)
MILD = (
    r"\b(?:clean data|high[- ]quality data|institutional[- ](?:grade|quality)|complete and accurate|fully (?:accurate|verified"
    r"|complete)|error-free|perfect data|best available|the most reliable)\b"
)
LIMITS = {
    "survivorship": r"survivor|hindsight|chosen today|today's members|delisted",
    "adjustment": r"adjusted|split|dividend",
    "source": (
        r"one (?:vendor|source|provider)|vendor|not verified|for testing|coarse|rounding|cannot (?:check|verify)|no second"
        r" source|approximat"
    ),
    "coverage": r"closes? only|no volume|no (?:intraday|spread|open) data|only (?:closes?|daily)|not cover|starts? (?:in|on)",
}
DATA_WORDS = r"\b(?:data|prices?|closes?|source|universe|series|history)\b"


def evidence_grade(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Overclaims about the data against stated limits; a bare 'no gaps' that the program's counts deny contradicts the files."""
    about = reading.everything.find(DATA_WORDS)
    if not about:
        return grade(0, "nothing is said about the data")
    wrong = _denied_by_counts(reading, facts)
    if wrong:
        return grade(0, "a statement about the data contradicts the delivered files", wrong)
    central = [line for line in reading.everything.find(CENTRAL) if not Text((line,)).find(r"\bnot\b|\bno claim|isn't|cannot")]
    if central:
        return grade(1, "a central overclaim about the universe or the data", central)
    mild = reading.everything.find(MILD)
    limits = kinds(LIMITS, lambda pattern: reading.everything.find(pattern, done=False))
    if len(mild) >= 2:
        return grade(2, f"{len(mild)} mild overclaims", mild)
    if mild or len(limits) < 2 or "adjustment" not in limits:
        return grade(
            3 if limits or mild else 2, "one mild overclaim, or the limits of the sources are stated in part", mild, about, *limits.values()
        )
    return grade(4, f"no overclaim; limits stated: {', '.join(limits)}", *limits.values())


def _denied_by_counts(reading: Reading, facts: Mapping[str, Json]) -> list[Line]:
    quality = facts.get("quality")
    shares = quality.get("shares") if isinstance(quality, Mapping) else None
    wrong: list[Line] = []
    for name, pattern in (
        ("m", r"no missing (?:value|price|data)"),
        ("g", r"no (?:gaps|missing (?:session|trading day))"),
        ("u", r"no duplicate"),
    ):
        share = shares.get(name) if isinstance(shares, Mapping) else None
        if isinstance(share, int | float) and share > 0.01:
            wrong += reading.everything.find(pattern)
    return wrong


CHECKS = {
    "missing": r"missing (?:values?|prices?|cells?|data|closes?|entries)|\bmissing\W{1,4}\d|\d+ missing\b|nulls?\b|\bnans?\b|empty cells?",
    "gaps": (
        r"\b(?:no|any|\d+|data|date) gaps?\b|\bgaps? (?:in|or|of)\b|\bgaps\W{1,4}\d|missing (?:session|trading day|date)s?"
        r"|exchange calendar|nyse calendar|every session"
    ),
    "duplicates": r"duplicat",
    "stale": r"\bstale\b|unchanged (?:close|price)|repeated (?:close|price)|flat (?:close|price|day)|barely move",
    "outliers": r"outlier|large moves?|one-day moves?|spikes?|jumps?|extreme returns?",
}
ACTION = r"\b(?:removed|filled|dropped|kept|left in|excluded|corrected|carried|winsori[sz]ed|no action|left as)\b"
EFFECT = (
    r"\b(?:effect|changes? (?:the|nothing|little)|without (?:it|them|that|\w{1,5})|impact|moves? the|does not change|no effect"
    r"|unaffected)\b"
)


def self_check(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Which of five checks are named, which have a count beside them, and whether action and effect are said."""
    text = reading.everything
    named = kinds(CHECKS, text.find)
    if not named:
        cleaned = text.find(
            r"\b(?:clean\w*|checked|validated|sanity|quality)\b.{0,40}\b(?:data|prices?)\b|\b(?:data|prices?)\b.{0,40}\b(?:clean\w*"
            r"|checked|validated)\b"
        )
        return (
            grade(1, "the data are called clean or checked without content", cleaned)
            if cleaned
            else grade(0, "no check of the data is named")
        )
    counted = {name: [line for line in lines if _counted(line, CHECKS[name])] for name, lines in named.items()}
    counted = {name: lines for name, lines in counted.items() if lines}
    if len(counted) < 3:
        return grade(2, f"checks named ({', '.join(named)}), results for {len(counted)}", *named.values())
    sections = {(line.where, line.heading) for lines in counted.values() for line in lines}
    beside = Text(tuple(line for line in text.lines if (line.where, line.heading) in sections))
    action, effect = beside.find(ACTION), beside.find(EFFECT, done=False)
    if len(counted) == len(CHECKS) and action and effect:
        return grade(4, "counts for all five checks, with action and effect", *counted.values(), action)
    return grade(3, f"counts for {', '.join(counted)}", *counted.values())


def _counted(line: Line, pattern: str) -> bool:
    """A count or 'none' within thirty characters of the check's words, or in its table row."""
    near = (
        rf"(?:{pattern})[^.;]{{0,30}}?(?:\b\d[\d,.]*|\bnone\b|\bzero\b)|(?:\b\d[\d,.]*%?|\bno\b|\bnone\b"
        rf"|\bzero\b)[^.;]{{0,30}}?(?:{pattern})"
    )
    return bool(Text((line,)).find(near, done=False))


RULES: Mapping[str, Rule] = {"1.2": traceability, "1.3": diversity, "1.5": evidence_grade, "1.6": self_check}
