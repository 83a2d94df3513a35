"""Built with QSTrader (MIT): the target weights are decided by the reference signals, everything after that is the library's own.

QSTrader buys whole shares only, rounded down after the estimated commission, at the close at which its weights are set; its commission is a
share of the order's value rounded to whole dollars.
"""

import numpy as np
import pandas as pd

from finassay_calibrate.clean.engine import frames, run_backtest
from finassay_calibrate.clean.libraries.with_bt import fill_weights, finished_log, tables_of
from finassay_calibrate.market.synthetic import SyntheticMarket
from finassay_reference.delivered.engine.strategy import Strategy as Settings


def build(market: SyntheticMarket, settings: Settings) -> dict[str, pd.DataFrame]:
    """Tables as QSTrader gives them: transactions, holdings, cash and curve. Raises `ValueError` if nothing is traded."""
    from finassay_calibrate.clean.libraries.qstrader_session import Session, day_of

    if settings.schedule == "drift_band" or settings.risk in ("position_stop", "trailing_stop"):
        raise ValueError("QSTrader brings every name to its target: no orders for single names")
    decided = frames(run_backtest(market, settings), market)
    prices = pd.DataFrame(market.close, index=market.dates, columns=list(market.tickers)).ffill()
    session = Session(
        prices.loc[decided["equity"]["date"].iloc[0] :], fill_weights(decided["targets"], market), settings.capital, settings.cost_bps
    )
    session.run()
    done = [t for t in session.log.transactions if abs(t.quantity) > 0]
    log = pd.DataFrame(
        {
            "fill_date": [day_of(t.dt) for t in done],
            "ticker": [t.asset for t in done],
            "price": [float(t.price) for t in done],
            "quantity": [float(t.quantity) for t in done],
            "fee": [float(t.commission) for t in done],
        }
    )
    curve = session.get_equity_curve()["Equity"]
    dates = pd.DatetimeIndex(curve.index)
    held = pd.DataFrame(session.holdings, index=dates)
    cash = held.pop("cash")
    held = held.reindex(columns=list(market.tickers)).fillna(0.0)
    worth = pd.Series(curve.to_numpy(dtype=np.float64), index=dates)
    return decided | tables_of(finished_log(log, decided), held, worth, cash, market)
