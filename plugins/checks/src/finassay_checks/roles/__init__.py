"""Which table plays which part in a backtest, and its canonical frame."""
