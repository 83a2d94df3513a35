"""A long-only daily backtest: decisions at a close, fills at the next session's close. Reads and writes CSV; needs numpy and pandas."""
