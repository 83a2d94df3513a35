"""What the user wants, as far as it has been said."""

from typing import Any

from attrs import asdict, evolve, field, frozen

COVERED = (
    "AAPL",
    "AMD",
    "BAC",
    "BBY",
    "CVX",
    "GE",
    "HD",
    "JNJ",
    "JPM",
    "KO",
    "LLY",
    "MRK",
    "MSFT",
    "PEP",
    "PFE",
    "PG",
    "RRC",
    "UNH",
    "WMT",
    "XOM",
)
"""Tickers of the embedded market."""
FIRST_DATE = "2000-01-03"
"""Earlier closes of the embedded market are coarse: three decimals on prices of a few cents."""
LAST_DATE = "2022-12-28"

NEEDS: dict[str, str] = {
    "earnings_yield": "company fundamentals",
    "book_to_market": "company fundamentals",
    "roe": "company fundamentals",
    "gross_profitability": "company fundamentals",
    "sales_growth": "company fundamentals",
    "eps_growth": "company fundamentals",
    "small_size": "market capitalisations",
    "earnings_surprise": "earnings announcements and estimates",
    "market_cap": "market capitalisations",
    "yield_curve": "interest rates",
    "sector_cap": "sector memberships",
    "on_event": "announcement dates",
}
"""Options that the embedded market cannot serve, and the data they need."""

OPTIMISERS = ("risk_parity", "mean_variance")


@frozen
class Request:
    """An empty text or None means: not said. Percentages are fractions. `quotes` keeps the user's own sentence for each component."""

    factors: tuple[str, ...] = ()
    combination: str = ""
    timing: str = ""
    weighting: str = ""
    covariance: str = ""
    risk: str = ""
    risk_value: float | None = None
    schedule: str = ""
    cost_bps: float | None = None
    cutoff: str = ""
    tickers: tuple[str, ...] = ()
    unknown_tickers: tuple[str, ...] = ()
    universe: str = ""
    """The user's words for the universe if no tickers were named."""
    quotes: dict[str, str] = field(factory=dict)
    asked: tuple[str, ...] = ()
    """Questions that were put, by component."""
    built: bool = False

    @property
    def servable_factors(self) -> tuple[str, ...]:
        return tuple(f for f in self.factors if f not in NEEDS)

    @property
    def missing_data(self) -> tuple[tuple[str, str], ...]:
        """(option, data) for everything wanted that the market cannot serve."""
        wanted = (*self.factors, self.weighting, self.timing, self.risk, self.schedule)
        return tuple((option, NEEDS[option]) for option in wanted if option in NEEDS)

    def merge(self, other: "Request") -> "Request":
        """What was said before, with what is said now on top."""
        said = {name: value for name, value in asdict(other).items() if value not in ("", None, (), {}, False, [])}
        said["quotes"] = self.quotes | other.quotes
        if "risk" in said and said["risk"] != self.risk and "risk_value" not in said:
            said["risk_value"] = None
        if "factors" in said:
            said["factors"] = tuple(dict.fromkeys((*self.factors, *other.factors)))
        for name in ("tickers", "unknown_tickers", "asked"):
            if name in said:
                said[name] = tuple(said[name])
        return evolve(self, **said)


def to_json(request: Request) -> dict[str, Any]:
    return asdict(request)


def from_json(data: dict[str, Any]) -> Request:
    """Raises `TypeError` for a field that a request does not have."""
    for name in ("factors", "tickers", "unknown_tickers", "asked"):
        data[name] = tuple(data.get(name, ()))
    return Request(**data)
