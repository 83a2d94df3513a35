"""Which principles the offline writers say that a criterion realizes."""

from finassay_rubrics.guidance.general import PRINCIPLES
from finassay_rubrics.metrics.principles import realized

GENERAL = tuple(f"{p.id} {p.title}: {p.statement}" for p in PRINCIPLES)
CREDIT = ("CR02 Leases are in or out, and said: Each leverage figure says so.", "CR04 Coverage names its earnings: A ratio says which.")


def test_a_figure_is_about_unit_and_statement_and_not_about_causes():
    found = realized(GENERAL, "States the revenue of FY2022", ["figure"])
    assert {"P03", "P04"} <= set(found)
    assert not {"P05", "P09", "P12"} & set(found)


def test_conventions_forms_and_words_have_their_own():
    assert "P08" in realized(GENERAL, "States the free cash flow of FY2022", ["figure", "convention"])
    assert realized(GENERAL, "", ["form"]) == ("P12",)
    assert "P09" in realized(GENERAL, "Explains the fall", ["words"])


def test_a_pack_is_met_by_the_subject_of_its_titles():
    assert realized(CREDIT, "States the interest coverage of FY2022", []) == ("CR04",)


def test_where_no_words_tell_all_are_meant():
    assert realized(CREDIT, "States the revenue of FY2022", []) == ("CR02", "CR04")
