"""Documents by the words that people use for them."""

from datetime import date

import pytest

from finassay_source_corpus.names import Named, chosen

LIST = [
    Named("ACME_2017_10K", ("Acme Tools", "ACME TOOLS CO., INC."), "Acme Tools 10k 2017", "10k", "2017", date(2017, 3, 20)),
    Named("ACME_2019_10K", ("Acme Tools", "ACME TOOLS CO., INC."), "Acme Tools 10k 2019", "10k", "2019", date(2019, 3, 20)),
    Named("ACME_2019Q2_10Q", ("Acme Tools", "ACME TOOLS CO., INC."), "Acme Tools 10q 2019", "10q", "2019Q2", date(2019, 8, 20)),
    Named("ZETA_2019_10K", ("Zeta Micro Devices", "ZMD"), "Zeta 10k 2019", "10k", "2019", date(2020, 2, 20)),
    Named("Bl_2018", ("Blue-Water Léon & Sons",), "annual", "", "", date(2018, 2, 20)),
    Named("note.md", (), "On the duration of bonds", "", "", date(2018, 1, 1)),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Acme Tools 10-K 2017", ["ACME_2017_10K"]),
        ("acmetools", ["ACME_2019Q2_10Q", "ACME_2019_10K", "ACME_2017_10K"]),
        ("ACME TOOLS CO., INC.'s form 10 K for FY2019", ["ACME_2019_10K"]),
        ("Acme Tools 2nd quarter Q2 2019", ["ACME_2019Q2_10Q"]),
        ("Acme Tols", ["ACME_2019Q2_10Q", "ACME_2019_10K", "ACME_2017_10K"]),
        ("Acme", ["ACME_2019Q2_10Q", "ACME_2019_10K", "ACME_2017_10K"]),
        ("ZMD and Acme Tools 10-K 2019", ["ZETA_2019_10K", "ACME_2019_10K"]),
        ("Blue Water Leon and Sons", ["Bl_2018"]),
        ("duration bonds", ["note.md"]),
        ("10-Q 2019", ["ACME_2019Q2_10Q"]),
        ("Verity Holdings 2019", []),
        ("", []),
        ("\x00 ' \" ( OR", []),
    ],
)
def test_words_find_documents(query, expected):
    assert [d.reference for d in chosen(query, LIST)] == expected
