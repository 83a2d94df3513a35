"""Whether an answer's figure is the expected one: units and scales by program, tolerances by two stated profiles."""

import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Final, Literal

from attrs import frozen

from finassay_rubrics.grading.numbers import Number, UnitKind
from finassay_rubrics.record.rubric import Route, Tolerance

Profile = Literal["strict", "lenient"]
LENIENT_REL: Final = Decimal("0.001")
SCALE_WORDS: Final = {"": 1, "thousands": 10**3, "millions": 10**6, "billions": 10**9, "trillions": 10**12}
KINDS: Final[dict[str, UnitKind]] = {
    "percent": "percent", "%": "percent", "pct": "percent", "per cent": "percent",
    "percentage points": "points", "percentage point": "points", "pp": "points", "points": "points", "percent points": "points",
    "times": "times", "x": "times", "ratio": "times", "multiple": "times", "turns": "times",
    "days": "days", "day": "days", "basis points": "basis points", "bp": "basis points", "bps": "basis points",
    "months": "months", "month": "months", "years": "months", "year": "months", "weeks": "months", "quarters": "months",
    "count": "plain", "number": "plain", "": "plain",
}  # fmt: skip
_LENGTH_SCALES: Final = {"year": 12, "quarter": 3}
_CURRENCIES: Final = {
    "$": "", "US$": "USD", "US DOLLARS": "USD", "US DOLLAR": "USD", "DOLLARS": "", "DOLLAR": "", "€": "EUR", "EURO": "EUR", "EUROS": "EUR",
    "£": "GBP", "¥": "", "YEN": "JPY", "₹": "INR", "RS": "INR", "RS.": "INR", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD",
    "HK$": "HKD", "S$": "SGD", "R$": "BRL", "NZ$": "NZD", "NT$": "TWD", "RMB": "CNY", "₩": "KRW",
}  # fmt: skip
"""What is written of a currency to its code; empty where it may be several."""
_CODES: Final = frozenset(
    [
        "USD",
        "EUR",
        "GBP",
        "CHF",
        "JPY",
        "CAD",
        "AUD",
        "NZD",
        "HKD",
        "SGD",
        "SEK",
        "NOK",
        "DKK",
        "INR",
        "CNY",
        "BRL",
        "MXN",
        "ZAR",
        "KRW",
        "PLN",
        "TRY",
        "TWD",
        "ILS",
        "CZK",
        "HUF",
        "THB",
        "IDR",
        "MYR",
        "PHP",
        "AED",
        "SAR",
        "CLP",
        "COP",
    ]
)
_DOLLARS: Final = frozenset(["USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN", "CLP", "COP", "BRL"])
DIGITS: Final = 3
"""Significant digits that a rounded amount must at least show where the rubric asks for no other precision."""


def kind_of(unit: str) -> UnitKind:
    """The kind of quantity that a unit measures: `USD per share` is an amount, `stores` a plain count."""
    plain = " ".join(unit.lower().split())
    if plain in KINDS:
        return KINDS[plain]
    return "amount" if currency_of(unit) is not None or re.search(r"\bcents?\b|\bpence\b|\bcurrency\b|\bdollars?\b", plain) else "plain"


def currency_of(text: str) -> str | None:
    """The code of the currency that a text names; empty where it may be several, None where it names none."""
    plain = text.strip().upper()
    if plain in _CURRENCIES:
        return _CURRENCIES[plain]
    word = next((w for w in re.findall(r"[A-Z]{3}", plain) if w in _CODES), None)
    sign = next((code for mark, code in _CURRENCIES.items() if not mark.isalpha() and mark in plain), None)
    return word or sign


@frozen
class Expected:
    """An expected figure, ready to be compared."""

    value: Decimal
    """In the route's unit and scale."""
    kind: UnitKind
    scale: Decimal
    tolerance: Tolerance
    decimals: int | None
    """Decimals that must at least be stated."""
    currency: str = ""
    """Its code; empty where it may be any."""
    digits: int = 0
    """Significant digits that a rounded figure must at least show."""
    coarsest: int | None = None
    """Decimals (negative: zeros before the point) from which a figure may show fewer digits, since it was asked for no finer."""


def expected_of(route: Route) -> Expected:
    """Raises `ValueError` for a route without a number."""
    if not isinstance(route.value, Decimal):
        raise ValueError(f"route {route.route_id!r} expects words")
    kind = kind_of(route.unit)
    tolerance = route.tolerance or Tolerance(rule="stated precision", abs=Decimal("0.5"))
    rounded = kind == "amount" and tolerance.rule == "stated precision" and tolerance.decimals is None
    return Expected(
        route.value, kind, _scale_of(route, kind), tolerance, tolerance.decimals, currency_of(route.unit) or "", DIGITS if rounded else 0
    )


def _scale_of(route: Route, kind: UnitKind) -> Decimal:
    words = f"{route.scale} {route.unit}".lower()
    if re.search(r"\bcents?\b|\bpence\b", words):
        return Decimal("0.01")
    if kind == "months":
        return next((Decimal(n) for word, n in _LENGTH_SCALES.items() if word in words), Decimal(1))
    named = next((n for word, n in SCALE_WORDS.items() if word and word.removesuffix("s") in words), 1)
    return Decimal(named)


def stated(number: Number, expected: Expected) -> list[tuple[Decimal, int]]:
    """The answer's figure in the unit and scale of the expected one, with the decimals that it then shows: every reading that is possible.

    Ratios and percent, percent points and basis points are forms of one value. A bare amount is in the expected scale, or in units.
    """
    value, decimals = number.value, number.decimals
    own = number.kind
    if expected.kind == "amount":
        said = currency_of(number.currency) if number.currency else ""
        if said and expected.currency and said != expected.currency:
            return []
        if "$" in number.currency and expected.currency and expected.currency not in _DOLLARS:
            return []
        return _amounts(number, expected.scale) if own in ("amount", "plain") else []
    if expected.kind == "months":
        return _lengths(number, expected.scale) if own in ("months", "plain") else []
    if own == "amount":
        return []
    if expected.kind == "plain" and own == "plain":
        return _counts(number, expected.scale)
    shift = _SHIFTS.get((own, expected.kind))
    if shift is None:
        return []
    readings = [(value.scaleb(shift), decimals - shift)]
    if own == "plain" and expected.kind in ("percent", "points") and number.scale is None:
        readings.append((value.scaleb(2), decimals - 2))  # 0.019 for 1.9 %
    return [(v, d) for v, d in readings]


_SHIFTS: Final[dict[tuple[UnitKind, UnitKind], int]] = {
    ("percent", "percent"): 0, ("plain", "percent"): 0, ("points", "percent"): 0, ("basis points", "percent"): -2,
    ("points", "points"): 0, ("percent", "points"): 0, ("plain", "points"): 0, ("basis points", "points"): -2,
    ("basis points", "basis points"): 0, ("plain", "basis points"): 0, ("points", "basis points"): 2, ("percent", "basis points"): 2,
    ("times", "times"): 0, ("plain", "times"): 0, ("percent", "times"): -2, ("days", "times"): 0,
    ("days", "days"): 0, ("plain", "days"): 0, ("months", "months"): 0, ("plain", "months"): 0, ("plain", "plain"): 0, ("days", "plain"): 0, ("times", "plain"): 0, ("percent", "plain"): -2,
}  # fmt: skip
"""(the answer's kind, the expected kind) to the power of ten between them."""


def can_be(number: Number, kind: UnitKind) -> bool:
    """Whether a figure can stand for a quantity of this kind at all: dollars are no ratio, percent are no dollars."""
    if kind == "amount":
        return number.kind in ("amount", "plain")
    return (number.kind, kind) in _SHIFTS


def plausible(number: Number, kind: UnitKind | None) -> bool:
    """Whether a figure without a unit is of a size that a ratio or a number of days can have: `1,314 thousand` is no percentage."""
    if kind in (None, "amount", "plain", "months") or number.kind != "plain":
        return True
    return number.scale is None and abs(number.value) < MAX_RATIO


MAX_RATIO: Final = 10_000


def _amounts(number: Number, scale: Decimal) -> list[tuple[Decimal, int]]:
    if number.scale is not None:
        shift = int((number.scale / scale).log10().to_integral_value()) if scale else 0
        return [(number.value.scaleb(shift), number.decimals - shift)]
    power = int(scale.log10().to_integral_value())
    bare = [(number.value, number.decimals)]
    in_units = [(number.value.scaleb(-power), number.decimals + power)]
    if power == 0:
        return bare
    return in_units if power < 0 and number.currency else [*bare, *in_units]  # $16.42 is not 16.42 cents


def _counts(number: Number, scale: Decimal) -> list[tuple[Decimal, int]]:
    """A count with its scale word; without one in the expected scale, or in units."""
    power = int(scale.log10().to_integral_value())
    own = int((number.scale or Decimal(1)).log10().to_integral_value())
    readings = [(number.value.scaleb(own - power), number.decimals - own + power)]
    return readings if number.scale is not None or power == 0 else [(number.value, number.decimals), *readings]


def _lengths(number: Number, scale: Decimal) -> list[tuple[Decimal, int]]:
    """A length of time in the expected unit; without a unit it is in that."""
    if number.kind == "plain" or number.scale == scale:
        return [(number.value, number.decimals)]
    return [(number.value * (number.scale or Decimal(1)) / scale, number.decimals)]


def accepts(number: Number, expected: Expected, profile: Profile = "strict") -> bool:
    """Whether the figure, as the answer states it, is the expected one. Nothing is nothing in every unit."""
    if expected.value == 0 and number.value == 0:
        return True
    return any(_within(value, decimals, expected, profile) for value, decimals in stated(number, expected))


def _within(value: Decimal, decimals: int, expected: Expected, profile: Profile) -> bool:
    signs = [value]
    if expected.kind == "amount" and profile == "lenient":
        signs.append(-value)
    return any(_fits(one, decimals, expected, profile) for one in signs)


def _fits(value: Decimal, decimals: int, expected: Expected, profile: Profile) -> bool:
    target, tolerance = expected.value, expected.tolerance
    if _rounds_to(value, decimals, expected):
        return True
    generous = tolerance.rule == "band" or (profile == "lenient" and expected.decimals is not None)
    band = max(tolerance.abs if generous else Decimal(0), tolerance.rel * abs(target))
    if tolerance.rule != "exact" and _in_band(value, target, band, tolerance.inclusive):
        return True
    return profile == "lenient" and abs(value - target) <= _lenient(target, expected.decimals)


def _rounds_to(value: Decimal, decimals: int, expected: Expected) -> bool:
    """The expected value, rounded to the decimals that the answer states, is what it says; half up, or half even on an exact tie."""
    needed, target = expected.decimals, expected.value
    if needed is not None and decimals < needed:
        return False
    if expected.tolerance.rule == "exact":
        return value == target
    known = max(0, -int(target.as_tuple().exponent)) if target.is_finite() else 0
    if decimals >= known:  # the answer is at least as fine as what is known
        half = Decimal(5).scaleb(-known - 1)
        return value == target or (_in_band(value, target, half, "both") and expected.tolerance.rule == "stated precision")
    as_asked = expected.coarsest is not None and decimals >= expected.coarsest
    if expected.digits and value != target and _digits(value, decimals) < expected.digits and not as_asked:
        return False
    step = Decimal(1).scaleb(-decimals)
    return value in (target.quantize(step, ROUND_HALF_UP), target.quantize(step, ROUND_HALF_EVEN))


def _digits(value: Decimal, decimals: int) -> int:
    """Significant digits of a figure that is shown with so many decimals (negative: zeros before the point)."""
    return max(1, value.adjusted() + 1 + decimals) if value else 1


def _in_band(value: Decimal, target: Decimal, band: Decimal, inclusive: str) -> bool:
    return target - band <= value < target + band if inclusive == "lower" else abs(value - target) <= band


def _lenient(target: Decimal, decimals: int | None = None) -> Decimal:
    """0.1 % of the value, and one unit in the last place of a key with three significant digits or more, whichever is larger.

    A value that was computed is the key at the decimals that an answer must state at least.
    """
    if decimals is not None and -int(target.as_tuple().exponent) > decimals:
        target = target.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    shown = target.normalize()
    digits = len(shown.as_tuple().digits)
    place = Decimal(1).scaleb(int(shown.as_tuple().exponent)) if digits >= 3 and int(shown.as_tuple().exponent) <= 0 else Decimal(0)
    return max(LENIENT_REL * abs(target), place)
