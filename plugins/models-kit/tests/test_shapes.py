"""Typed dictionaries as shapes."""

from collections.abc import Iterable
from typing import Literal, Required, TypedDict

import pytest

from finassay_models_kit.shapes import misfits


class Inner(TypedDict, total=False):
    kind: Required[Literal["a", "b"]]
    size: float | None


class Outer(TypedDict):
    items: Iterable[Inner]
    name: str


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"items": [{"kind": "a", "size": 1}, {"kind": "b", "size": None}], "name": "x"}, []),
        ({"items": [], "name": "x", "more": 1}, ["$.more: Outer has no such key"]),
        ({"items": [{"size": 1}], "name": "x"}, ["$.items[0].kind: Inner needs it"]),
        ({"items": [{"kind": "c"}], "name": "x"}, ["$.items[0].kind: 'c' is none of ('a', 'b')"]),
        ({"items": "a", "name": "x"}, ["$.items: no list"]),
        ({"items": [], "name": 1}, ["$.name: 1 is no <class 'str'>"]),
        ([], ["$: no Outer"]),
    ],
)
def test_what_does_not_fit_is_told(value, told):
    assert misfits(value, Outer) == told
