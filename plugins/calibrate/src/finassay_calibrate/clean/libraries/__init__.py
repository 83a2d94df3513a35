"""Builders on other people's backtesting libraries; only those that are installed are offered."""

from importlib.util import find_spec

from finassay_calibrate.clean.build import Builder


def installed() -> dict[str, Builder]:
    """Builder name to builder, without importing a library that is not used."""
    found: dict[str, Builder] = {}
    if find_spec("bt") is not None:
        from finassay_calibrate.clean.libraries.with_bt import build as with_bt

        found["bt"] = with_bt
    return found
