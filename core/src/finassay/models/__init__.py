"""Around the plain exchange of a provider: patience, limits, values that fit their schema, the run's store, prices, ledger, budgets."""
