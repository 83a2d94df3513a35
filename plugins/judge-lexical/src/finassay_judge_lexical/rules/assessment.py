"""4.1 grounded conclusions, 4.4 risk disclosure, 4.5 sensitivity analysis, 4.6 out-of-sample validation."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from finassay.api.verdict import Json
from finassay_judge_lexical.grade import Grade, Rule, grade, kinds
from finassay_judge_lexical.rules.promises import denied_by_curve, joined, promised_results
from finassay_judge_lexical.rules.strategy import sensitivity_rows
from finassay_judge_lexical.text import Line, Reading, Text

CENTRAL = ("annual_return", "total_return", "sharpe", "max_drawdown", "trades")
CONCLUSION = r"summary|bottom line|conclusion|result|finding|answer|performance|headline|verdict"
UNCERTAIN = (
    r"\b(?:uncertain\w*|confidence|interval|t\s?=|standard error|noise|not (?:significant|distinguishable|proof|conclusive)|95"
    r" ?%|bootstrap|range|may|might|could be chance|p-value|estimate)\b"
)
CHANGES = (
    r"\b(?:would change|if .{0,80}\b(?:then|would)|would (?:not )?(?:conclude|hold|fall|rise|reverse|weaken)|depends? on|only if"
    r"|unless|hinges? on|should not be read|do(?:es)? not prove|overstat\w+)\b"
)


_ABOUT_RESULTS = re.compile(
    r"\b(?:returns?|returned|earn\w*|gain\w*|profit\w*|alpha|beat\w*|outperform\w*|los(?:e|es|t|s)|draw-?down|sharpe|volatility)\b", re.I
)


def invented(stated: Sequence[Line], facts: Mapping[str, Json]) -> list[Line]:
    """Sentences of the conclusion about results whose numbers, two or more, all lead to nothing delivered."""
    lost: dict[str, int] = {}
    for claim in facts.get("untraced") or ():
        if isinstance(claim, Mapping):
            sentence = " ".join(str(claim.get("sentence", "")).split())
            lost[sentence] = lost.get(sentence, 0) + 1
    return [
        line
        for line in stated
        if not line.row
        and line.numbers >= 2
        and _ABOUT_RESULTS.search(line.text)
        and sum(n for s, n in lost.items() if len(s) > 20 and (s in (text := " ".join(line.text.split())) or text in s)) >= line.numbers
    ]


def grounded(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Program facts decide: central figures that recomputation denies or nothing bears out, then untraced numbers; then what is hedged."""
    stated = [line for line in (reading.report.under(CONCLUSION) or list(reading.last.lines)) if line.numbers]
    if not stated:
        return grade(0, "no conclusion with a number is delivered")
    figures = [f for f in facts.get("metrics") or () if isinstance(f, Mapping) and f.get("metric") in CENTRAL]
    wrong = [f for f in figures if f.get("recomputed") is not None and not f.get("matches")]
    if any(_sign(f["reported"]) * _sign(f["recomputed"]) < 0 for f in wrong) or len(wrong) >= 3:
        return grade(0, f"the conclusions contradict the recomputed {', '.join(str(f['metric']) for f in wrong)}", stated)
    if wrong:
        return grade(1, f"central figures do not recompute: {', '.join(str(f['metric']) for f in wrong)}", stated)
    promised = joined(promised_results(reading), denied_by_curve(reading, facts))
    central = [line for line in promised if re.search(CONCLUSION, line.heading) or not line.heading]
    if central or len(promised) >= 2:
        return grade(
            1, "a central conclusion promises results, which nothing can support, or is denied by the delivered curve", central or promised
        )
    borne_out = [f for f in figures if f.get("recomputed") is not None and f.get("matches")]
    credit = facts.get("claim_credit")
    credit = float(credit) if isinstance(credit, int | float) else 0.0
    if not borne_out and credit < 0.1:
        return grade(1, "no central figure can be recomputed and no number leads to a delivered table", stated)
    count, untraced = int(facts.get("claims") or 0), int(facts.get("untraced_count") or 0)
    if count and untraced > count / 2:
        return grade(2, f"central figures hold; {untraced} of {count} numbers lead to nothing delivered", stated)
    made_up = invented(stated, facts)
    prose = [line for line in stated if not line.row and _ABOUT_RESULTS.search(line.text)]
    if len(made_up) >= 2 and len(made_up) > len(prose) / 2:
        return grade(1, "most sentences of the conclusion about results have figures that lead to nothing delivered", made_up)
    if made_up or promised:
        return grade(2, "central figures hold; a further conclusion has no support", made_up, promised)
    uncertain = reading.last.find(UNCERTAIN, done=False, words=6)
    changes = reading.last.find(CHANGES, done=False, words=8)
    if uncertain and changes and len(borne_out) >= 3:
        return grade(4, "figures hold, uncertainty is said, and what would change the conclusion", stated, uncertain, changes)
    return grade(3, "conclusions are supported by recomputed or traced numbers", stated)


def _sign(value: Any) -> int:
    return 0 if not isinstance(value, int | float) or abs(value) < 1e-12 else 1 if value > 0 else -1


RISKS: Mapping[str, str] = {
    "market": (
        r"drawdown|crash|single-name|\bgaps? (?:down|risk|remain)|bear market|regime|market (?:risk|fall|exposure)|concentrat\w+"
        r"|volatil\w+|correlat\w+|momentum crash|sharp reversal|beta"
    ),
    "model": (
        r"overfit\w*|parameter|estimat\w+|in-sample|multiple test|versions? (?:tried|made)|model|sensitiv\w+|look-?back|luck|few"
        r" (?:names|trades)|optimis\w+"
    ),
    "data": (
        r"survivor\w*|hindsight|vendor|data (?:source|error|quality|are|is)|adjusted|missing|delist\w*|one source|coarse|price"
        r" index|dividends"
    ),
    "implementation": (
        r"slippage|liquidity|capacity|\bimpact\b|\bcosts? (?:are|is|of|in|could|may)|trading costs?|bid|spread|fill(?:s"
        r"|ed)?\b|execution|tax\w*|fractional shares|closing auction|cost (?:is|of)|turnover"
    ),
}
BOILERPLATE = (
    r"past performance|no guarantee|not (?:investment|financial) advice|investing involves risk|markets can go (?:up|down)"
    r"|consult (?:a|your)|risk of loss"
)
RISK_HEADING = r"risk|limit|caveat|warning|what could go wrong|weakness|not (?:covered|modelled)"
RISK_CUE = (
    r"\b(?:risk|limit\w*|caveat|however|overstat\w*|understat\w*|flatter\w*|bias\w*|not (?:modelled|included|covered|tested)"
    r"|could|may|would|fails?|assumes?|only)\b"
)


def risks(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Specific sentences by kind of risk, in a risk section or beside a cue; stock phrases earn nothing."""
    section = reading.last.under(RISK_HEADING)
    pool = Text(tuple({line.text: line for line in (*section, *reading.last.find(RISK_CUE, done=False))}.values()))
    specific = Text(tuple(line for line in pool.lines if line.words >= 6 and not Text((line,)).find(BOILERPLATE, done=False)))
    found = kinds(RISKS, lambda pattern: specific.find(pattern, done=False))
    if not found:
        plain = reading.everything.find(BOILERPLATE, done=False)
        return grade(1, "stock phrases only", plain) if plain else grade(0, "no risk is named")
    quantified = [line for line in specific.lines if line.numbers and any(line in lines for lines in found.values())]
    if len(found) < 4:
        level = 2
    else:
        level = 4 if len(quantified) >= 3 else 3
    return grade(level, f"specific risks: {', '.join(found)}; {len(quantified)} of them with a number", quantified, *found.values())


PARAMETERS: Mapping[str, str] = {
    "cost": r"\bcost|\bbps?\b|basis point|fee",
    "window": r"window|look-?back|\bdays?\b|months? (?:back|return)|covariance (?:of|\d)",
    "names": r"\btop\b|\b\d+ (?:names|stocks)\b|number of (?:names|stocks)|holdings|\bn\s*=",
    "threshold": r"stop|threshold|cap\b|target|band",
    "schedule": r"weekly|monthly|quarterly|rebalanc|schedule|refresh",
    "lag": r"\blag|delay|days? after",
    "estimator": r"shrink|ledoit|ewma|estimator|covariance|aversion",
    "weighting": r"equal[- ]weight|inverse|risk parity|weighting",
    "universe": r"without [A-Z]{1,5}\b|universe|excluding",
}
PERIODS = r"sub-?period|(?:19|20)\d{2}\s*(?:-|–|to)\s*(?:19|20)?\d{2}|first half|second half|decade|start(?:ing)? date|by year"
ROBUST = (
    r"\b(?:robust\w*|hinge\w*|(?:in)?sensitiv\w*|does not depend|depends (?:on|moderately)|no setting|every setting|between -?\d"
    r"|stable|holds? (?:up|for|across)|varies)\b"
)


def sensitivity(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Rows of numbers under a heading about sensitivity, or delivered variant tables, by the parameter they vary."""
    rows = sensitivity_rows(reading)
    tables = reading.tables("variants")
    heads = [Line(raw, t.where, "sensitivity", True) for t in tables for raw in t.head.split("\n")[1:] if raw.strip()]
    varied = kinds(PARAMETERS, lambda pattern: Text((*rows, *heads)).find(pattern, done=False))
    prose = [
        line for line in reading.everything.find(r"sensitiv|robust|varied|instead of|at \d+ ?bps?|with \d+ (?:names|days)") if not line.row
    ]
    counted = [line for line in prose if line.numbers >= 2]
    if not varied:
        varied = kinds(PARAMETERS, lambda pattern: Text(tuple(counted)).find(pattern))
        if varied:
            return grade(2, f"one or few values, in prose: {', '.join(varied)}", counted)
        words = [line for line in prose if Text((line,)).find(r"robust|sensitiv")]
        return grade(1, "robustness is claimed without numbers", words) if words else grade(0, "no sensitivity analysis")
    if len(varied) < 2:
        return grade(2, f"one parameter: {', '.join(varied)}", *varied.values())
    periods = Text((*rows, *heads, *reading.everything.rows(r"sub-?period|by (?:year|period|decade)|period"))).find(PERIODS, done=False)
    periods = periods or [row for row in reading.everything.rows() if Text((row,)).find(PERIODS, done=False) and row.numbers >= 2]
    said = [line for line in reading.last.find(ROBUST, words=5, done=False) if not line.row]
    if "cost" in varied and periods and said:
        return grade(4, f"varied: {', '.join(varied)} and the period, with a statement of robustness", *varied.values(), periods, said)
    return grade(3, f"varied in a table: {', '.join(varied)}", *varied.values())


HOLD_OUT = r"\b(?:out[- ]of[- ]sample|hold-?out|walk-?forward|test (?:set|period|sample)|unseen)\b"
ADMITTED = (
    r"\b(?:no|not|without|never)\b[^.]{0,40}(?:out[- ]of[- ]sample|hold-?out|walk-?forward|untouched)|in-sample only|whole"
    r" sample was (?:seen|used)"
)
TRIED = (
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|first|second|third|fourth|fifth|sixth)\b[^.]{0,30}\b(?:versions?"
    r"|variants?|specifications?|runs|combinations|settings|changes|trials)\b"
)


def out_of_sample(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """A hold-out that is shown with dates and numbers, sub-periods with fixed rules, or an open word that there is none."""
    claimed = reading.everything.find(HOLD_OUT, done=False)
    shown = [line for line in claimed if line.numbers >= 1 and not line.promised and not Text((line,)).find(ADMITTED, done=False)]
    dated = [line for line in shown if Text((line,)).find(r"(?:19|20)\d{2}")]
    admitted = reading.everything.find(ADMITTED, done=False)
    tried = reading.everything.find(TRIED, done=False)
    periods = [row for row in reading.everything.rows() if Text((row,)).find(PERIODS, done=False) and row.numbers >= 1]
    if dated:
        compared = reading.everything.find(
            r"in[- ]sample.{0,80}out[- ]of[- ]sample|out[- ]of[- ]sample.{0,80}in[- ]sample|train\w*.{0,60}test", number=True, done=False
        )
        if compared and tried:
            return grade(4, "a dated hold-out, compared with the sample, and the variants tried are counted", dated, compared, tried)
        return grade(3, "a hold-out or walk-forward with dates and numbers", dated)
    if periods:
        return grade(2, "sub-periods with fixed rules", periods, admitted)
    if shown:
        return grade(2, "one split without its dates", shown)
    if admitted and tried:
        return grade(1, "no hold-out, said openly with the number of versions", admitted, tried)
    return grade(0, "a hold-out is claimed and not shown, or nothing is said", claimed)


RULES: Mapping[str, Rule] = {"4.1": grounded, "4.4": risks, "4.5": sensitivity, "4.6": out_of_sample}
