"""Reported headline figures with their printed precision and stated basis (spec D.0.3 headline, D.0.4 metrics)."""

from finassay_checks.figures.headline import disagreements, headline_figures

__all__ = ["disagreements", "headline_figures"]
