"""Which documents are the last report, and which were the one before (spec D.0.1)."""

import re
from collections.abc import Mapping, Sequence

from finassay.api.delivery import Delivery
from finassay_checks.model import Document
from finassay_checks.reading.files import BOOKKEEPING, DOCUMENTS, suffix_of
from finassay_checks.versions import changed_in

_REPORT_NAME = re.compile(r"report|write.?up|memo|summary|note|backtest|analysis|result", re.I)
_SIDE_NAME = re.compile(r"^(?:readme|requirements|license|changelog|checking|todo|manifest|log)\b", re.I)


def is_report_file(path: str) -> bool:
    """A file that prose is read from."""
    return suffix_of(path) in DOCUMENTS and path.rpartition("/")[2].lower() not in BOOKKEEPING and suffix_of(path) not in ("", ".log")


def _first_named(candidates: Sequence[Document], message: str) -> int:
    """Index of the candidate that the message names first, by path or file name; -1 if it names none."""
    places = []
    for index, document in enumerate(candidates):
        name = document.where.rpartition("/")[2]
        hits = [p for p in (message.find(document.where), message.find(name)) if p >= 0]
        if hits:
            places.append((min(hits), index))
    return min(places)[1] if places else -1


def last_report(documents: Sequence[Document], deliveries: Sequence[Delivery], message: str) -> tuple[Document, ...]:
    """The newest current report document in front, then those that it or the message names. `documents` are the current files' prose."""
    candidates = [d for d in documents if is_report_file(d.where) and len(d.text.split()) >= 20]
    if not candidates:
        return ()
    changed: Mapping[str, int] = {d.where: changed_in(deliveries, d.where) for d in candidates}
    newest = max(changed.values())
    of_turn = [d for d in candidates if changed[d.where] == newest]
    named = [d for d in of_turn if _REPORT_NAME.search(d.where.rpartition("/")[2])] or [
        d for d in of_turn if not _SIDE_NAME.match(d.where.rpartition("/")[2])
    ]
    # A turn may touch a side document only: then the report of an earlier turn is still the report.
    reports = [d for d in candidates if re.search(r"report|write.?up|memo", d.where.rpartition("/")[2], re.I)]
    if reports and not any(d in reports for d in of_turn):
        latest = max(changed[d.where] for d in reports)
        named = [d for d in reports if changed[d.where] == latest]
    pool = named or of_turn
    reports_in_pool = [d for d in pool if d in reports] or pool
    index = _first_named(reports_in_pool, message)
    chosen = reports_in_pool[index] if index >= 0 else min(reports_in_pool, key=lambda d: (d.where.count("/"), -len(d.text)))
    text = f"{message}\n{chosen.text}"
    belonging = [d for d in candidates if d is not chosen and d.where.rpartition("/")[2] in text]
    return (chosen, *belonging)
