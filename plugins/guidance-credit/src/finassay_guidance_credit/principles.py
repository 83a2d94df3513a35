"""What the desk holds to, and what it tells every role."""

from typing import Final

from finassay.api.guidance import Principle

PRINCIPLES: Final = (
    Principle("CR01", "Leverage net of cash that can be used", "Net leverage takes off cash and short-term investments that are free to repay debt, and says which; restricted and trapped cash stay out.", "Cash that cannot leave where it lies repays nobody."),
    Principle("CR02", "Leases are in or out, and said", "Each leverage or coverage figure says whether lease liabilities and rents are counted.", "One turn of leverage can hang on it, and peers differ."),
    Principle("CR03", "Debt is gross of nothing hidden", "Debt counts short-term borrowings, current maturities and long-term debt at the balance sheet's carrying value; hybrids, pensions and factoring are named if they are added.", "What is left out is what hurts."),
    Principle("CR04", "Coverage names its earnings", "A coverage ratio says which earnings stand above (EBIT, EBITDA, EBITDA less capital expenditure, funds from operations) and which interest below.", "The same company covers its interest twice or five times by the choice."),
    Principle("CR05", "Headroom against the covenant's own terms", "Covenant headroom is measured by the definition, the test date and the threshold of the agreement, and is told in turns or percent.", "Reported ratios are not what the agent bank tests."),
    Principle("CR06", "Liquidity is sources against uses", "Liquidity sets cash, undrawn committed lines and cash flow against maturities and other uses within a stated horizon.", "Companies fail on dates, not on ratios."),
    Principle("CR07", "Maturities by year", "Debt due is told by year from the maturity table, with what is secured and what ranks behind.", "An average maturity hides the wall."),
    Principle("CR08", "Cash flow before the story", "The ability to repay rests on operating cash flow less capital expenditure, not on adjusted earnings.", "Add-backs have never paid a coupon."),
    Principle("CR09", "A trigger has a number and a source", "A view on ratings names the agency's or the desk's own threshold, its date, and the figure beside it.", "A direction without a trigger cannot be wrong."),
    Principle("CR10", "Structure decides recovery", "Guarantors, security and subordination are told where claims of several entities are compared.", "Consolidated figures repay nobody in particular."),
)  # fmt: skip

INSTRUCTIONS: Final = {
    "signature": "Tell apart leverage, coverage, liquidity, covenant and rating tasks.",
    "criteria": "For leverage ask which cash and which leases; for coverage which earnings; for headroom which definition and which test date.",
    "contextualizer": "Bind treatments of cash and of leases as convention topics, thresholds as assumptions.",
    "writer": (
        "Put the treatment of cash and of leases into every leverage criterion, in its text or in each route's convention. Name the earnings of every coverage ratio."
        " Take maturities from the maturity table, thresholds from the agreement or the agency's own words."
    ),
    "reviewer": "Take debt and cash from the balance sheet, not from a table of net debt that the company made.",
    "composer": "A layout never earns more than the leverage figure it shows.",
    "global-reviewer": "Does anything test liquidity over the horizon that was asked? Does any criterion count leases that another leaves out?",
    "judge": "A leverage figure without a word on cash and leases does not state its treatment.",
    "session-judge": "Read as a lender would: what repays, when, and who ranks before.",
}

CONVENTIONS: Final = {
    "ebitda.basis": ("operating-income",),
    "interest_coverage.numerator": ("ebitda", "ebit"),
    "debt_to_equity.debt": ("borrowings",),
    "fcf.definition": ("cfo-less-capex",),
}
"""Topics of the metric table to the routes that the desk accepts, its own first."""

DIMENSIONS: Final = {
    "lender-view": "Does the work say what repays the debt, when it falls due, and which figure would change the view?",
}
"""Report-only."""
