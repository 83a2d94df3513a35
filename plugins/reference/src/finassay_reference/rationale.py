"""Why each price signal should work, when it should fail, and who showed it."""

RATIONALE = {
    "mom_12_1": (
        "investors take in news slowly, so winners of the past year go on winning for some months (Jegadeesh and Titman 1993); the latest"
        " month is left out because it tends to reverse. Should fail at sharp market turns, when past losers rebound first (Daniel and"
        " Moskowitz 2016)."
    ),
    "mom_6_1": (
        "the same slow reaction to news over half a year (Jegadeesh and Titman 1993); trades more than the yearly form. Should fail at"
        " sharp market turns."
    ),
    "high_52w": (
        "traders anchor on the yearly high and are slow to bid a stock above it on good news (George and Hwang 2004). Should fail when"
        " markets turn down from a broad peak."
    ),
    "rev_5d": (
        "sellers in a hurry push a price too far for a few days and pay those who step in (Lehmann 1990). Should fail when the fall is news"
        " about the company, and after costs."
    ),
    "rev_21d": (
        "pressure of sellers over a month is paid back (Jegadeesh 1990). Should fail when the fall is news about the company, and in"
        " persistent sell-offs."
    ),
    "low_vol": (
        "investors who may not borrow overpay for lively stocks, calm ones earn more for their risk (Ang, Hodrick, Xing and Zhang 2006)."
        " Should fail in strong rallies."
    ),
    "low_beta": (
        "investors who may not borrow overpay for high beta (Frazzini and Pedersen 2014). Should fail in strong rallies and when interest"
        " rates jump."
    ),
}
