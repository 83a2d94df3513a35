"""1.4 delivered data quality: the price table in use against five limits."""

from collections.abc import Mapping
from typing import ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief
from finassay.api.verdict import Evidence, Verdict
from finassay_checks.checks.backtest_base import ProgramCheck, note, rows


class DeliveredDataQuality(ProgramCheck):
    """Fact `dq` pooled over the cells of the price table that the fills use; other price tables and the worst ticker are notes."""

    id: ClassVar[str] = "1-4-delivered-data-quality"
    description: ClassVar[str] = "Missing cells, missing sessions, duplicates, stale closes and jumps in the delivered prices."
    dimension: ClassVar[str] = "1.4"

    def brief(self, package: Package) -> CheckBrief:
        from finassay_checks.facts.prices_in_use import price_quality

        return CheckBrief(facts={"data_quality": {where: dict(quality.counts) for where, quality in package.fact(price_quality).items()}})

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.facts.prices_in_use import price_quality
        from finassay_checks.facts.quality import LIMITS, NAMES

        measured = package.fact(price_quality)
        if not measured:
            return self.scored(0, "No readable price table was delivered.")
        # Two tables that fit equally well: the worse one is graded, so that nothing hangs on a guess.
        where, quality = min(measured.items(), key=lambda item: len(item[1].kept))
        kept = quality.kept
        level = {5: 4, 4: 3, 3: 2}.get(len(kept), 1)
        evidence: list[Evidence] = []
        for name, limit in LIMITS.items():
            shown = f"{quality.counts[name]:,}" if name == "u" else f"{quality.counts[name]:,} ({quality.shares[name]:.3%})"
            text = f"{NAMES[name]}: {'within the limit' if name in kept else 'beyond the limit'}"
            evidence.append(rows(text, where, quality.listed.get(name, ()), shown, f"≤ {limit:.1%}" if limit else "0"))
        evidence += [
            note(f"most {NAMES[name]}: {ticker} ({share:.2%} of its days)", where) for name, (ticker, share) in quality.worst.items()
        ]
        evidence += [note(text, where) for text in quality.notes]
        facts = {
            "table": where,
            "cells": quality.cells,
            "tickers": quality.tickers,
            "counts": dict(quality.counts),
            "shares": dict(quality.shares),
        }
        return self.scored(level, f"The price table keeps {len(kept)} of 5 limits.", evidence, facts)
