import pytest
from corpora import filings

from finassay.testing.cases import ComponentConformance


class TestCorpus(ComponentConformance):
    kind = "source"
    id = "corpus"

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        type(self).options = {"folder": str(filings(tmp_path))}


class TestChannel(ComponentConformance):
    kind = "channel"
    id = "corpus"

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        type(self).options = {"folder": str(filings(tmp_path)), "cutoff": "2020-03-01"}
