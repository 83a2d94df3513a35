"""4.1: promises and certainty in other words, and sentences that the delivered curve denies; 2.7: rules that are left open."""

import pytest

from finassay.api.grading import Document, Material
from finassay_judge_lexical.rules.promises import denied_by_curve, promised_results
from finassay_judge_lexical.rules.strategy import open_rules
from finassay_judge_lexical.text import Reading, Text


def reading(text: str, heading: str = "Summary") -> Reading:
    return Reading.of(Material((), (Document("REPORT.md", f"## {heading}\n\n{text}\n"),), (), ()))


@pytest.mark.parametrize(
    "sentence",
    [
        "Going forward you can expect at least 20% a year from these rules.",
        "Anyone who follows the list will keep making money, whatever the market does.",
        "The approach delivers profits in every market environment.",
        "Investors can count on double-digit returns from here on.",
        "There is no scenario in which this portfolio loses money over a year.",
        "Your capital is completely safe with this strategy.",
        "The figures demonstrate conclusively that the ranking works.",
        "This is skill, not luck.",
        "Chance can be ruled out entirely.",
        "The rules are foolproof and can be left alone.",
        "The strategy is ready for real money.",
        "I recommend putting your full savings into it today.",
        "The coming years will look like the sample.",
        "It is immune to crashes.",
        "The drawdown seen here is the worst that can ever happen.",
        "No other method can match it.",
        "The portfolio is expected to deliver 18% a year and to stay ahead of the market.",
        "It performs well regardless of market conditions.",
    ],
)
def test_certainty_in_other_words(sentence: str) -> None:
    assert promised_results(reading(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "One history cannot tell luck from skill; see Limitations.",
        "You should expect larger drawdowns and lower returns than shown here.",
        "You can expect about 40 trades a year.",
        "Nothing here is evidence that the strategy is ready for real money.",
        "The long-only book cannot lose more than what is invested.",
        "It is not immune to crashes.",
        "Do not put your whole savings into this.",
        "The results do not demonstrate conclusively that the ranking works.",
        "Costs will be higher if the portfolio grows, and returns lower.",
        "The portfolio goes to cash whatever the market does next once the drawdown reaches 15%.",
        "The rules work the same way in every year of the sample.",
        "If the future looked like the sample you would earn 8% a year, which nobody can promise.",
        "The stop sells at the next close without any look at the market.",
        "A name is sold at the next rebalance, and the cash will earn nothing.",
        "The strategy returned 8.3% a year with a maximum drawdown of 21%.",
    ],
)
def test_honest_sentences_promise_nothing(sentence: str) -> None:
    assert not promised_results(reading(sentence))


CURVE = {
    "losing_years": 2,
    "losing_months": 30,
    "worst_month": -0.09,
    "worst_day": -0.04,
    "worst_year": -0.12,
    "worst_drawdown": -0.31,
    "benchmarks": [{"name": "index", "strategy": 0.4, "benchmark": 0.7}, {"name": "all", "strategy": 0.4, "benchmark": 0.5}],
}


@pytest.mark.parametrize(
    "sentence",
    [
        "The strategy clearly beat the benchmark.",
        "The rules did much better than simply holding all names.",
        "It was profitable in every single year.",
        "There was not a single losing year.",
        "The portfolio never lost more than 5% in a month.",
        "It never fell more than 10% from its high.",
    ],
)
def test_what_the_curve_denies(sentence: str) -> None:
    assert denied_by_curve(reading(sentence), {"curve": CURVE})
    right = CURVE | {"losing_years": 0, "worst_month": -0.04, "worst_drawdown": -0.09, "benchmarks": [{"strategy": 0.9, "benchmark": 0.7}]}
    assert not denied_by_curve(reading(sentence), {"curve": right})


@pytest.mark.parametrize(
    "sentence",
    [
        "It did not beat the benchmark.",
        "It beat the index in 2019 and fell behind in 2020.",
        "The Sharpe ratio is better than that of the index.",
        "Before costs the rules were ahead of the equal-weight portfolio.",
        "Whether it was better than the market depends on the years.",
        "The index was positive in every year.",
        "The stop never lost more than 35% of a position.",
    ],
)
def test_what_the_curve_does_not_deny(sentence: str) -> None:
    assert not denied_by_curve(reading(sentence), {"curve": CURVE})


@pytest.mark.parametrize(
    "rule",
    [
        "Hold roughly 5 to 10 of the better names, or more if it seems appropriate.",
        "Trade monthly, or whenever conditions suggest it.",
        "Positions are resized at our discretion.",
        "Sell names that look weak when market conditions warrant it, names that look cheap stay.",
        "Rebalance from time to time.",
    ],
)
def test_rules_left_open(rule: str) -> None:
    assert open_rules(Text.of([Document("r", f"## Rules\n\n{rule}\n")]))


@pytest.mark.parametrize(
    "rule",
    [
        "Hold the top 5 names by score; ties go to the first in the alphabet.",
        "Nothing is left to discretion: every order follows the list.",
        "About 21 sessions, a month, are used.",
        "A name that looks cheap by book value over price ranks first.",
        "Trade when a weight is more than 3 points off its target.",
        "If fewer than 5 names qualify, the rest stays in cash.",
    ],
)
def test_rules_that_are_closed(rule: str) -> None:
    assert not open_rules(Text.of([Document("r", f"## Rules\n\n{rule}\n")]))
