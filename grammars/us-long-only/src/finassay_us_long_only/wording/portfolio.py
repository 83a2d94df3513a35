"""Portfolio construction: weighting and covariance."""

from finassay_us_long_only.wording.model import Asking, Words

WEIGHTING_ASKING = Asking(
    "the position sizing",
    (
        r"siz(?:e|es|ing|ed)",
        r"weight(?:s|ing|ings|ed)?",
        r"allocat\w*",
        r"portfolio construction",
        r"how much ~ (?:each|every|per|a single) (?:stock|name|position|holding)",
        r"(?:split|spread|distribut|divid)\w* ~ (?:money|capital|cash|positions|names|portfolio)",
        r"optimi[sz]\w*",
        r"how big ~ positions?",
        r"(?:construct|build) ~ portfolio",
        r"position siz\w*",
    ),
)

WEIGHTINGS = {
    "equal": Words(
        "give every position the same weight",
        "equal weights",
        (
            r"equal(?:ly)? weight\w*",
            r"weight\w* ~ equally",
            r"weight\w* equal(?:ly)?",
            r"same weight",
            r"equal (?:positions?|sizes?|amounts?|parts|shares|dollars?|stakes?)",
            r"equally sized",
            r"same (?:size|amount|money|share) ~ (?:each|every)",
            r"1 n weight\w*",
            r"each position ~ (?:same|equal)",
        ),
    ),
    "score_prop": Words(
        "size positions in proportion to their score",
        "positions sized by their score",
        (
            r"score prop\w*",
            r"proportion\w* to ~ scores?",
            r"scores? (?:proportional|weighted|weights?)",
            r"(?:siz|weight)\w* ~ by ~ scores?",
            r"(?:higher|better|stronger) ~ scores? ~ (?:more|bigger|larger|higher) (?:weight|position|size|money)?",
            r"proportional to ~ (?:signal|rank)",
        ),
    ),
    "market_cap": Words(
        "weight the holdings by market capitalisation",
        "market-cap weights",
        (
            r"market cap\w* weight\w*",
            r"cap weight\w*",
            r"weight\w* ~ market (?:cap\w*|value)",
            r"(?:siz|weight|alloc)\w* ~ by ~ market (?:cap\w*|value)",
            r"capitali[sz]ation weight\w*",
            r"weight\w* market cap",
            r"proportion\w* to ~ market (?:cap\w*|value)",
        ),
    ),
    "inverse_vol": Words(
        "size positions by inverse volatility",
        "inverse-volatility sizing",
        (
            r"inverse(?:ly)? vol\w*",
            r"inverse ~ volatil\w*",
            r"inversely ~ volatil\w*",
            r"1 vol(?:atility)?",
            r"volatility weight\w*",
            r"weight\w* ~ inverse ~ vol\w*",
            r"lower vol\w* ~ (?:more|larger|bigger|higher) weight\w*",
            r"divid\w* by ~ volatility",
        ),
    ),
    "risk_parity": Words(
        "size positions by risk parity, so that each adds the same risk",
        "risk-parity sizing",
        (
            r"risk parity",
            r"equal(?:ly)? risk(?: contributions?| weight\w*)?",
            r"(?:same|equal) ~ risk contributions?",
            r"risk budget\w*",
            r"adds? the same risk",
            r"erc",
        ),
    ),
    "mean_variance": Words(
        "size positions by mean-variance optimisation",
        "mean-variance sizing",
        (
            r"mean variance",
            r"markowitz",
            r"mvo",
            r"(?:max\w*|best) ~ sharpe ~ optimi[sz]\w*",
            r"optimi[sz]\w* ~ (?:return\w* against variance|risk adjusted return)",
            r"efficient frontier",
        ),
    ),
}

COVARIANCE_ASKING = Asking(
    "the covariance estimate behind the sizing",
    (
        r"covarian\w*",
        r"risk model",
        r"(?:correlation|risk)s? ~ estimat\w*",
        r"estimat\w* ~ (?:correlation|risk|variance)s?",
        r"estimators?",
        r"how ~ (?:measure|estimate)\w* ~ (?:risk|correlations)",
        r"correlation matrix",
        r"(?:sample|ewma|shrink\w*) or",
        r"(?:optimi[sz]er|optimi[sz]ation) ~ inputs?",
        r"variance estimat\w*",
    ),
)

COVARIANCES = {
    "sample": Words(
        "use the plain sample covariance for it",
        "the plain sample covariance",
        (
            r"(?:plain|simple|sample|historical|ordinary|raw|empirical) (?:\w+ )?covarian\w*",
            r"sample (?:estimators?|estimates?|matrix)",
            r"covarian\w* ~ (?:plain|sample|historical|empirical)",
            r"covariance (?:plain|sample|historical)",
            r"unshrunk ~ covarian\w*",
        ),
    ),
    "ewma": Words(
        "use an exponentially weighted covariance for it",
        "an exponentially weighted covariance",
        (
            r"ewma",
            r"exponential\w* (?:weighted|decay\w*|moving)",
            r"exponential\w* ~ covarian\w*",
            r"recent ~ days ~ count more",
            r"decay factor",
        ),
    ),
    "shrinkage": Words(
        "use a shrinkage covariance for it",
        "a shrinkage covariance",
        (r"shr[iau]nk\w*", r"ledoit(?: wolf)?", r"covarian\w* ~ shr[iau]nk\w*", r"oas"),
    ),
}
