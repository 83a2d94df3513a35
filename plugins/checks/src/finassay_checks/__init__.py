"""Program checks: reads deliveries, recomputes backtests, tests fidelity."""
