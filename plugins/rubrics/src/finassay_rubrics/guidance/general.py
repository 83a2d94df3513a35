"""General guidance for financial research: what a careful desk holds an answer to, whatever it covers."""

from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict

from finassay.api.guidance import Guidance, Principle
from finassay_rubrics.validate.rules import RULES

PRINCIPLES: Final = (
    Principle("P01", "The right subject", "A fact counts for the issuer, period and scope that were asked.", "Most wrong answers are right numbers of something else."),
    Principle("P02", "Known by the cutoff", "Only what was dated and public on the day of the cutoff is used.", "What was learned later turns a question into its own answer."),
    Principle("P03", "From the statement itself", "A reported figure is taken from the primary statement of its period where that shows it.", "Filings repeat captions in parent-only, guarantor and summary tables with other figures."),
    Principle("P04", "With unit and scale", "Each figure says its currency, its scale and its unit, at a precision that its inputs carry.", "Slips by a thousand or a hundred are the dearest and the easiest to see."),
    Principle("P05", "Direction apart from size", "Whether something rose or fell is a claim beside how much.", "A size can be right and its story backwards."),
    Principle("P06", "The issuer's own calendar", "Years and quarters are named as the issuer names them; odd weeks and short periods are told where a comparison rests on them.", "The same label means different twelve months at different issuers."),
    Principle("P07", "Assumptions are kept", "What the query assumes binds; anything assumed besides is said, with its effect.", "A silent assumption looks like a mistake."),
    Principle("P08", "One convention throughout", "Where several definitions are in use the answer names its own and stays with it.", "Changing the definition midway makes trends out of nothing."),
    Principle("P09", "Causes with evidence", "An explanation gives causes that a source states or that figures show, with direction and, if known, size.", "A chronicle of events explains nothing."),
    Principle("P10", "Can be computed again", "Inputs, captions and formula are there, so that a reader gets the same figure.", "What cannot be followed can be neither trusted nor mended."),
    Principle("P11", "A verdict has a yardstick", "A judgement says by which test it is made, and the figures under that test bear it out.", "Opposite verdicts can be defended; a verdict against its own figures cannot."),
    Principle("P12", "In the form that was asked", "Tables, units, lengths and orders that were asked are kept, and earn no more than form.", "Form is cheap."),
    Principle("P13", "Reported is not adjusted", "Reported and company-adjusted figures are labelled, and meet only over a bridge.", "Companies choose what they leave out."),
    Principle("P14", "The latest version known", "For a past period the latest version filed by the cutoff holds, the first one is accepted where the query leaves it open.", "Reclassification moves figures without anything having happened."),
    Principle("P15", "Gaps are told", "What the sources do not show is said to be missing.", "An invented figure costs more than an admitted gap."),
    Principle("P16", "One claim, one test", "A criterion tests one thing on which two readers would agree.", "Graders part ways over bundles and vague words."),
    Principle("P17", "Found twice", "A value holds once somebody else has derived it from the sources alone.", "A wrong key punishes right answers for good."),
    Principle("P18", "Length earns nothing", "Claims earn points; repetition, hedges and lists of candidates do not.", "Among enough numbers the right one is there by chance."),
)  # fmt: skip
INSTRUCTIONS: Final = {
    "signature": "Reduce the query to what kind of task it is. Leave out every entity, period, amount, date and population; name metrics and deliverables by their ids.",
    "criteria": "Write criteria that hold for every query of this kind. Each tests one claim and holds no value. Say which principles it realizes.",
    "contextualizer": "Copy spans exactly as they stand. Bind every occurrence. Put canonical forms beside the span, never into it.",
    "writer": (
        "Look for the figure in the primary statement first. Take every quote with the line that names its period and scale. Compute by a script whose inputs are"
        " quoted numbers. Where two conventions are in use and the query names none, give both as routes of one topic. Leave unresolved what you cannot ground."
    ),
    "reviewer": "Derive the value from the sources alone. If you cannot find it, say so; do not guess what another would have found.",
    "composer": "Move points only for a ground on the list, few and small. A layout earns less than an analysis; a computed figure more than a copied one.",
    "global-reviewer": "Read the rubric as an answerer would: is anything asked that nothing tests, tested twice, or tested that was not asked?",
    "judge": "Decide from the answer's own words. Quote the words that decide. A hint at the right idea is not the claim.",
}


class NoOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class GeneralPack:
    """Implements `finassay.api.guidance.GuidancePack`."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "general guidance for financial research: eighteen principles, twenty-one rules in code"
    Options: ClassVar[type[BaseModel]] = NoOptions

    def __init__(self, options: NoOptions, /) -> None:
        self.guidance = Guidance("general", "1", PRINCIPLES, INSTRUCTIONS, RULES)
