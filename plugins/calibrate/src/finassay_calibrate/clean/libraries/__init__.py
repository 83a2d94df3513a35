"""Builders on other people's backtesting libraries; only those that are installed are offered."""

from importlib.util import find_spec

from finassay_calibrate.clean.build import Builder


def installed() -> dict[str, Builder]:
    """Builder name to builder, without importing a library that is not used."""
    found: dict[str, Builder] = {}
    if find_spec("bt") is not None:
        from finassay_calibrate.clean.libraries.with_bt import build as with_bt

        found["bt"] = with_bt
    if all(find_spec(name) is not None for name in ("qstrader", "pytz")):  # it needs pytz without saying so
        from finassay_calibrate.clean.libraries.with_qstrader import build as with_qstrader

        found["qstrader"] = with_qstrader
    return found
