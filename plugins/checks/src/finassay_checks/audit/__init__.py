"""`finassay audit`: the program checks that need no session, on any folder of backtest files."""
