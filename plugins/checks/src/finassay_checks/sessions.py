"""Trading sessions of an exchange."""

import warnings
from datetime import date
from functools import lru_cache

import pandas as pd


@lru_cache(maxsize=8)
def _calendar_sessions(exchange: str, first_year: int, last_year: int) -> pd.DatetimeIndex:
    import exchange_calendars

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the calendar package uses what newer versions of pandas deprecate
        sessions = exchange_calendars.get_calendar(exchange, start=f"{first_year}-01-01", end=f"{last_year}-12-31").sessions
    return pd.DatetimeIndex(pd.DatetimeIndex(sessions.tz_localize(None) if sessions.tz is not None else sessions).as_unit("ns"))


def sessions_between(exchange: str, start: "pd.Timestamp | date", end: "pd.Timestamp | date") -> pd.DatetimeIndex:
    """Sessions from `start` to `end`, both inclusive, as naive midnights. `exchange` is an ISO 10383 code; an unknown one gives weekdays.

    Years that the calendar does not reach (before 1900, or later than it was computed) are weekdays as well.
    """
    import exchange_calendars

    first, last = pd.Timestamp(start).normalize(), pd.Timestamp(end).normalize()
    if last < first:
        return pd.DatetimeIndex([], dtype="datetime64[ns]")
    try:
        # In blocks of five years, so that questions about neighbouring years share one computed calendar.
        sessions = _calendar_sessions(exchange, max(first.year // 5 * 5, 1900), min(last.year // 5 * 5 + 4, 2050))
    except (exchange_calendars.errors.CalendarError, ValueError, OverflowError):
        return pd.bdate_range(first, last).as_unit("ns")
    return sessions[(sessions >= first) & (sessions <= last)]


@lru_cache(maxsize=64)
def timezone_of(exchange: str) -> str:
    """Time zone of an exchange, by its ISO 10383 code. Raises `exchange_calendars.errors.InvalidCalendarName` for an unknown one."""
    import exchange_calendars

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        return str(exchange_calendars.get_calendar(exchange, start="2024-01-02", end="2024-02-29").tz)
