"""Built with bt (MIT): the target weights are decided by the reference signals, everything after that is the library's own.

bt fills at the close of the bar on which its weights are set, in whole or fractional shares, with commissions of its own function.
"""

from typing import Any

import numpy as np
import pandas as pd

from finassay_calibrate.clean.engine import frames, run_backtest
from finassay_calibrate.market.synthetic import SyntheticMarket
from finassay_reference.delivered.engine.strategy import Strategy as Settings


def build(market: SyntheticMarket, settings: Settings) -> dict[str, pd.DataFrame]:
    """Tables as bt gives them: transactions, prices of the strategy, holdings. Raises `ValueError` if nothing is traded."""
    import bt  # type: ignore[import-untyped,unused-ignore]  # MIT; ships no types

    if settings.schedule == "drift_band" or settings.risk in ("position_stop", "trailing_stop"):
        raise ValueError("bt brings every name to its target: no orders for single names")
    decided = frames(run_backtest(market, settings), market)
    prices = pd.DataFrame(market.close, index=market.dates, columns=list(market.tickers)).ffill()
    weights = fill_weights(decided["targets"], market)
    start = decided["equity"]["date"].iloc[0]
    prices = prices.loc[start:]

    def commission(quantity: float, price: float) -> float:
        return abs(quantity) * price * settings.cost_bps / 10_000

    algos = [bt.algos.RunOnDate(*weights.index), bt.algos.WeighTarget(weights), bt.algos.Rebalance()]
    test = bt.Backtest(
        bt.Strategy("strategy", algos),
        prices,
        initial_capital=settings.capital,
        commissions=commission,
        integer_positions=False,
        progress_bar=False,
    )
    result = bt.run(test, progress_bar=False)
    strategy = test.strategy
    trades = _trades(result.get_transactions(), decided, settings)
    held = pd.DataFrame(_held(strategy))
    held = held.reindex(index=prices.index, columns=list(market.tickers)).fillna(0.0)
    worth, cash = strategy.values.reindex(prices.index), strategy.cash.reindex(prices.index)
    return decided | tables_of(trades, held, worth, cash, market)


def fill_weights(targets: pd.DataFrame, market: SyntheticMarket) -> pd.DataFrame:
    """Target weights by fill date, one column a name."""
    whole = targets.pivot_table(index="fill_date", columns="ticker", values="target_weight", aggfunc="last")
    return whole.reindex(columns=list(market.tickers)).fillna(0.0)


def _held(strategy: Any) -> dict[str, pd.Series]:
    return {
        security.name: security.positions for security in strategy.members if hasattr(security, "positions") and security is not strategy
    }


def _trades(transactions: pd.DataFrame, decided: dict[str, pd.DataFrame], settings: Settings) -> pd.DataFrame:
    """bt's transactions as a log; its commission is a function of shares and price that is not in them."""
    log = transactions.reset_index()
    log.columns = ["fill_date", "ticker", "price", "quantity"]
    log = log[log["quantity"].abs() > 1e-9].reset_index(drop=True)
    log["fee"] = log["quantity"].abs() * log["price"] * settings.cost_bps / 10_000
    return finished_log(log, decided)


def finished_log(log: pd.DataFrame, decided: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Fills (`fill_date`, `ticker`, `price`, signed `quantity`, `fee`) with the decision's date and reason. Raises `ValueError` if there are none."""
    if log.empty:
        raise ValueError("nothing is traded")
    dates = decided["targets"].drop_duplicates("fill_date").set_index("fill_date")["decision_date"]
    log["shares"] = log["quantity"].abs()
    log["side"] = np.where(log["quantity"] > 0, "BUY", "SELL")
    log["value"] = log["shares"] * log["price"]
    log["signal_date"] = log["fill_date"].map(dates)
    reasons = decided["trades"].set_index(["fill_date", "ticker"])
    keys = pd.MultiIndex.from_frame(log[["fill_date", "ticker"]])
    for column in ("reason", "decided_by", "decided_value", "compared_with", "weight_before", "target_weight"):
        log[column] = reasons[column].reindex(keys).to_numpy()
    log["reason"] = log["reason"].fillna("rebalance: resized to target")
    log["trade_id"] = np.arange(1, len(log) + 1)
    order = ["trade_id", "signal_date", "fill_date", "ticker", "side", "shares", "price", "value", "fee", "reason"]
    return log[[*order, "decided_by", "decided_value", "compared_with", "weight_before", "target_weight"]]


def tables_of(
    trades: pd.DataFrame, held: pd.DataFrame, worth: pd.Series, cash: pd.Series, market: SyntheticMarket
) -> dict[str, pd.DataFrame]:
    """Log, holdings and curve in the canonical form of a draft."""
    positions = held.rename_axis("date").rename_axis(columns=None).reset_index()
    positions["cash"] = cash.to_numpy()
    fees = trades.groupby("fill_date")["fee"].sum().reindex(held.index).fillna(0.0)
    values = worth.to_numpy(dtype=float)
    ret = np.concatenate([[0.0], values[1:] / values[:-1] - 1])
    equity = pd.DataFrame({"date": held.index, "equity": values, "cash": cash.to_numpy(), "fees": fees.to_numpy(), "ret": ret})
    return {"trades": trades, "positions": positions, "equity": equity}
