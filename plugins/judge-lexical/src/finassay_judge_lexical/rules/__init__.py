"""One rule for each dimension that a judge grades, grouped as the rubric groups them."""

from collections.abc import Mapping

from finassay_judge_lexical.grade import Rule
from finassay_judge_lexical.rules import assessment, data, strategy, user

RULES: Mapping[str, Rule] = {**data.RULES, **strategy.RULES, **assessment.RULES, **user.RULES}
