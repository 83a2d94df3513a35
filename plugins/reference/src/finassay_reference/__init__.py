"""A working backtest agent on embedded real prices, three agents that fail silently, and the embedded market."""
