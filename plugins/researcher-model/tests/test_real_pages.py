"""Lines of real filings, copied as a model copies them, are found again on their pages, with the numbers that they show."""

import gzip
import json
import os
import random
import re
from pathlib import Path

import pytest

from finassay_researcher_model.fence import shown
from finassay_researcher_model.figures import figure_in
from finassay_rubrics.record.quotes import found_on, located

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
CORPUS = sorted((SHARED / "data" / "financebench" / "corpus").glob("*.jsonl.gz"))
NUMBER = re.compile(r"\(?\$?\s?\d[\d,]*(?:\.\d+)?\)?")


def copied():
    """(page, line): some lines of some pages of some filings, on one line, without leaders, as pages are shown."""
    chosen = random.Random(3)
    for path in chosen.sample(CORPUS, min(8, len(CORPUS))):
        rows = gzip.decompress(path.read_bytes()).decode().split("\n")
        pages = [json.loads(row)["text"] for row in rows if row.strip()]
        for page in chosen.sample(pages, min(25, len(pages))):
            lines = [line for line in shown(page).splitlines() if len(line.split()) > 3 and sum(c.isalpha() for c in line) > 3]
            for line in chosen.sample(lines, min(4, len(lines))):
                yield page, re.sub(r"(?:\.\s?){3,}", " ", " ".join(line.split()))


@pytest.mark.skipif(not CORPUS, reason="no corpus of filings: the shared folder is not beside the checkout (set FINASSAY_SHARED)")
def test_lines_of_filings_are_found_again():
    lines = numbers = missing = 0
    for page, line in copied():
        lines += 1
        place = located(page, line)
        assert place is not None, line
        quote = page[slice(*place)]
        assert found_on(page, quote) == "exact"
        for number in NUMBER.findall(line):
            numbers += 1
            missing += isinstance(figure_in(quote, number), str)
    assert lines > 500
    assert missing <= numbers / 100  # references such as `$.01`, `B.26`
