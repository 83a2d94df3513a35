"""Columns of delivered cells to numbers, dates and tickers. Everything works on unique values, so that long columns stay fast."""

import re
from typing import Any

import numpy as np
import pandas as pd

from finassay_checks.shared import SHORT, factorized

_STAMP_ZONE = re.compile(r"(?:[+-]\d{2}:?\d{2}|Z)$")
_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m-%d-%Y",
    "%d-%m-%Y",
    "%m/%d/%y",
    "%d-%b-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %d %Y",
    "%d-%b-%y",
    "%Y.%m.%d",
)
_EMPTY = frozenset(
    {"", "-", "--", "nan", "none", "null", "na", "n/a", "#n/a", "nat", "<na>", "inf", "-inf", "+inf", "infinity", "-infinity"}
)
_SUFFIX = {"k": 1e3, "m": 1e6, "mn": 1e6, "mm": 1e6, "bn": 1e9, "b": 1e9}
_MONEY = r"(?:(?:US|A|C|HK|R)?\$|[€£¥₩₹]|(?:USD|EUR|GBP|GBX|CHF|JPY|CAD|AUD|HKD|CNY|KRW|INR|BRL|SEK|NOK|DKK|PLN|ZAR|MXN|USDT|kr|zł|円|元)(?![a-z]))"
_NUMBER = re.compile(
    rf"^\(?\s*([-+]?)\s*{_MONEY}?\s*([-+]?)\s*(\d[\d,.' \u00a0\u202f]*|\.\d+)(?:[eE]([-+]?\d{{1,3}}))?\s*(%|x|bps?|bp|k(?!r)|mn"
    rf"|mm|m|bn|b)?\s*{_MONEY}?\s*\)?$",
    re.I,
)
DATE_SHARE = 0.95
_FIRST, _LAST = pd.Timestamp("1900-01-01"), pd.Timestamp("2200-01-01")
_DIGIT = re.compile(r"\d")
_DATELIKE = re.compile(
    r"\d{1,4}\s*[-/.]\s*\d{1,2}\s*[-/.]\s*\d{1,4}(?!\d)|\d{6,8}|\d\s*[-\s]\s*[^\W\d_]{3,}\.?\s*[-\s]\s*\d{2}|[^\W\d_]{3,}\.?\s+\d{1,2}\s*,?\s*\d{4}"
    r"|\d{4}-?W?\d"
)
"""What every text holds that any of `_FORMATS` or ISO 8601 reads as a date; most texts that hold it are none."""


def strings_of(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """The unique non-empty cells as stripped text, indexed by the cell itself."""
    uniques = pd.unique(series.dropna()) if len(series) < SHORT else factorized(series)[1]
    return pd.Series([str(u).strip() for u in uniques], index=pd.Index(uniques, dtype=object), dtype=object)


def _broadcast(series: "pd.Series[Any]", mapping: dict[Any, Any], empty: Any, dtype: str) -> "pd.Series[Any]":
    codes, uniques = factorized(series)
    values = np.array([mapping.get(u, empty) for u in uniques] + [empty], dtype=dtype)
    return pd.Series(values[codes], index=series.index)


def parse_number(text: str, decimal_comma: bool = False) -> float | None:
    """One printed number: `12.3%` is 0.123, `(3.1)` is -3.1, `$1,234.50`, `1.2m`, `15 bp` is 0.0015; None if it is none."""
    if not _DIGIT.search(text):
        return None
    text = text.strip().replace("−", "-").replace("–", "-")
    if len(text) > 60:
        return None
    match = _NUMBER.match(text)
    if match is None:
        return None
    sign, sign2, digits, exponent, unit = match.groups()
    digits = re.sub(r"[' \u00a0\u202f]", "", digits)
    if decimal_comma:
        digits = digits.replace(".", "").replace(",", ".")
    elif digits.count(",") == 1 and "." not in digits and not re.search(r",\d{3}$", digits):
        digits = digits.replace(",", ".")
    else:
        digits = digits.replace(",", "")
    try:
        value = float(digits) * 10.0 ** int(exponent or 0)
    except (ValueError, OverflowError):
        return None
    unit = (unit or "").lower()
    value *= 0.01 if unit == "%" else 1e-4 if unit.startswith("bp") else _SUFFIX.get(unit, 1.0)
    negative = (sign == "-") != (sign2 == "-") or (text.startswith("(") and text.endswith(")"))
    return -value if negative else value


def to_numbers(series: "pd.Series[Any]") -> "pd.Series[float]":
    """float64; text notation is read, infinities and what is no number become NaN."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object)
    if pd.api.types.is_bool_dtype(series.dtype):
        return series.astype("float64")
    if pd.api.types.is_numeric_dtype(series.dtype):
        numbers = series.astype("float64")
        finite = np.isfinite(numbers.to_numpy())
        return numbers if finite.all() else numbers.where(finite)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or pd.api.types.is_timedelta64_dtype(series.dtype):
        return pd.Series(np.nan, index=series.index, dtype="float64")
    direct = pd.to_numeric(series, errors="coerce").astype("float64")
    if direct.notna().sum() < series.notna().sum():
        texts = strings_of(series[direct.isna()])
        comma = decimal_comma(texts)
        parsed = {cell: parse_number(text, comma) for cell, text in texts.items()}
        rest = _broadcast(series, {k: v for k, v in parsed.items() if v is not None}, np.nan, "float64")
        direct = direct.where(direct.notna(), rest)
    return direct.where(np.isfinite(direct))


_COMMA = re.compile(r"^\D*(\d[\d.' \u00a0]*),(\d+)\D*$")


def decimal_comma(texts: "pd.Series[Any]") -> bool:
    """Whether the comma parts decimals in a column: one comma a number, no point behind it, and at least one number in which it cannot
    part thousands (`140,5`, `100123,456`, `1.234,567`)."""
    with_comma = texts[texts.str.contains(",", regex=False)]
    if not len(with_comma):
        return False
    matches = [_COMMA.match(str(text)) for text in with_comma]
    if sum(match is None for match in matches) > 0.1 * len(matches):
        return False
    found = [match for match in matches if match is not None]
    return any(len(m[2]) != 3 or len(re.split(r"[.' \u00a0]", m[1])[-1]) > 3 or "." in m[1] for m in found)


def number_share(series: "pd.Series[Any]") -> float:
    """Share of the non-empty cells that are numbers."""
    filled = series.notna().sum()
    return float(to_numbers(series).notna().sum() / filled) if filled else 0.0


def _zoned_dates(texts: "pd.Series[Any]", timezone: str) -> "pd.Series[Any]":
    """Dates of stamps with a zone: midnight in any zone is that date; else decided once for the column (conventions, section 6)."""
    local = pd.to_datetime(texts.str.replace(_STAMP_ZONE, "", regex=True).str.strip(), errors="coerce", format="ISO8601")
    if (local.dropna() == local.dropna().dt.normalize()).all():
        return local
    return utc_dates(pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601"), timezone)


def utc_dates(stamps: "pd.Series[Any]", timezone: str) -> "pd.Series[Any]":
    """Exchange dates of stamps in UTC: 00:00 means the date, 4 and 5 h a New York midnight, 22 and 23 h a European one (next date)."""
    naive = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
    known = naive.dropna()
    hours = set((known - known.dt.normalize()).dt.total_seconds().unique() / 3600)
    dates: pd.Series[Any]
    if hours <= {0.0} or hours <= {4.0, 5.0} or hours <= {20.0, 21.0}:
        dates = naive.dt.normalize()
    elif hours <= {22.0, 23.0}:
        dates = (naive + pd.Timedelta(hours=2)).dt.normalize()
    else:
        dates = stamps.dt.tz_convert(timezone).dt.tz_localize(None).dt.normalize()
    return dates


def _text_dates(texts: "pd.Series[Any]", timezone: str) -> "pd.Series[Any]":
    if not any(map(_DATELIKE.search, texts)):
        return pd.Series(pd.NaT, index=texts.index, dtype="datetime64[ns]")
    texts = texts.astype(str)
    direct = _within(pd.to_datetime(texts, format="%Y-%m-%d", errors="coerce"))
    if direct.notna().mean() >= DATE_SHARE:
        return direct
    if texts.str.contains(_STAMP_ZONE).mean() > 0.5 and texts.str.contains(":").mean() > 0.5:
        return _zoned_dates(texts, timezone)
    plausible = texts.str.len().between(6, 40) & texts.str.contains(r"\d")
    best = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[ns]")
    if plausible.mean() < 0.2:
        return best
    wanted = texts.where(plausible)
    cleaned = wanted.str.replace(r"[T ,;]+\d{1,2}:?\d{2}(?::?\d{2})?(?:\.\d+)?\s*(?:[AaPp][Mm])?$", "", regex=True)
    for form in _FORMATS:
        parsed = pd.to_datetime(cleaned, format=form, errors="coerce")
        if parsed.notna().sum() > best.notna().sum():
            best = parsed
        if best.notna().mean() >= DATE_SHARE:
            break
    return best


def to_dates(series: "pd.Series[Any]", timezone: str = "America/New_York", name_is_date: bool = True) -> "pd.Series[Any]":
    """Naive, midnight-normalised dates; what is no date is NaT. Numbers are dates only where the column's name says so."""
    empty = pd.Series(pd.NaT, index=series.index, dtype="datetime64[ns]")
    dtype = series.dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        local = series.dt.tz_localize(None)
        dates = local.dt.normalize() if (local.dropna() == local.dropna().dt.normalize()).all() else utc_dates(series, timezone)
    elif pd.api.types.is_datetime64_dtype(dtype):
        if (whole := _whole_days(series)) is not None:
            return whole
        dates = series.dt.normalize()
    elif pd.api.types.is_bool_dtype(dtype):
        return empty
    elif pd.api.types.is_numeric_dtype(dtype):
        dates = _number_dates(series, timezone) if name_is_date else empty
    else:
        texts = strings_of(series)
        if texts.empty:
            return empty
        parsed = _text_dates(texts, timezone)
        if name_is_date and parsed.notna().mean() < 0.5:
            numbers = pd.Series([parse_number(t) for t in texts], index=texts.index, dtype="float64")
            parsed = parsed.where(parsed.notna(), _number_dates(numbers, timezone))
        dates = _broadcast(
            series, {k: v.to_datetime64() for k, v in parsed.items() if v is not pd.NaT}, np.datetime64("NaT"), "datetime64[ns]"
        )
    normal: pd.Series[Any] = _within(dates).dt.normalize()
    return normal


_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def _whole_days(series: "pd.Series[Any]") -> "pd.Series[Any] | None":
    """Naive stamps that all are midnights within any market's years, as nanoseconds; None where one is not or is missing."""
    values = series.to_numpy()
    unit = np.datetime_data(values.dtype)[0]
    if not len(values) or unit not in _A_DAY or np.isnat(values).any():
        return None
    first, last = (limit.to_datetime64().astype(values.dtype) for limit in (_FIRST, _LAST))  # nanoseconds do not hold every stamp
    inside = values.min() >= first and values.max() <= last
    if not inside or (values.view("int64") % _A_DAY[unit]).any():
        return None
    return pd.Series(values.astype("datetime64[ns]"), index=series.index, name=series.name)


def _within(dates: "pd.Series[Any]") -> "pd.Series[Any]":
    """Nanosecond stamps; what lies outside any market's years is no date (nor could nanoseconds hold the year 1008)."""
    kept: pd.Series[Any] = dates.where((dates >= _FIRST) & (dates <= _LAST)).astype("datetime64[ns]")
    return kept


def _number_dates(series: "pd.Series[Any]", timezone: str) -> "pd.Series[Any]":
    """20240102, spreadsheet serials, and epoch seconds or milliseconds (which are UTC), whichever fits all values."""
    numbers = series.astype("float64")
    known = numbers.dropna()
    nothing = pd.Series(pd.NaT, index=series.index, dtype="datetime64[ns]")
    if known.empty or not np.isfinite(known).all():
        return nothing
    low, high = known.min(), known.max()
    if low >= 19_000_101 and high <= 22_001_231:
        text = numbers.map(lambda v: f"{int(v)}", na_action="ignore")
        return pd.to_datetime(text, format="%Y%m%d", errors="coerce")
    if low >= 20_000 and high <= 80_000:
        return pd.to_datetime(numbers, unit="D", origin="1899-12-30", errors="coerce")
    for unit, least, most in (("s", 1e8, 7e9), ("ms", 1e11, 7e12)):
        if low >= least and high <= most:
            return utc_dates(pd.to_datetime(numbers, unit=unit, errors="coerce", utc=True), timezone)  # type: ignore[call-overload]  # a unit
    return nothing


def canonical_ticker(text: str) -> str:
    """`brk.b` is `BRK-B`, `AAPL.US` is `AAPL`, `Equity(0 [AAPL])` is `AAPL`, `$cash` is `$CASH`; at most 40 characters."""
    text = text.strip().upper()[:60]
    if "[" in text and text.endswith("])"):
        text = text[text.rindex("[") + 1 : -2]
    for suffix in (".US", " US EQUITY", " US"):
        text = text.removesuffix(suffix)
    if re.fullmatch(r"[A-Z]{1,5}[./ _][A-Z]", text):
        text = f"{text[:-2]}-{text[-1]}"
    return "$CASH" if text in ("CASH", "$CASH", "USD CASH", "CASH USD") else text[:40]


def to_tickers(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Tickers as text in canonical spelling; an empty cell is missing."""
    codes, uniques = factorized(series)
    spelt = [canonical_ticker(str(u)) for u in uniques]
    if str(series.dtype) == "str" and spelt == list(uniques):
        return series.rename(None)
    names = pd.array(spelt or [""], dtype="str")
    taken = names.take(codes, allow_fill=True)
    return pd.Series(taken, index=series.index)


def is_blank(text: str) -> bool:
    """Whether a cell stands for nothing: empty, or a word for a missing or infinite number."""
    return text.strip().lower() in _EMPTY
