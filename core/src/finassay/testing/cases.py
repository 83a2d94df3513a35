"""Conformance as pytest classes: subclass the one of your kind, name your component, and that is its whole conformance test.

class TestCodex(ComponentConformance):
    kind = "agent"
    id = "codex"
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest


class ComponentConformance:
    """Runs every check of the kind; a failed 'must' fails the test, a failed 'should' warns in the report.

    Required: `kind` and `id`; a component that talks to models also wants `models`, such as `FakeModels`;
    an agent whose program calls models wants `access`, such as `Access` to a scripted server. Reserved: `test_conforms` cannot be overridden, so that a component cannot excuse itself.
    """

    kind: ClassVar[str] = ""
    id: ClassVar[str] = ""
    options: ClassVar[Mapping[str, Any]] = {}
    models: ClassVar[Any] = None
    access: ClassVar[Any] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "test_conforms" in cls.__dict__:
            raise TypeError(f"{cls.__name__}: test_conforms is reserved")

    def test_conforms(self) -> None:
        from finassay.catalog.catalog import Catalog
        from finassay.testing.conformance import run_conformance

        if not self.kind or not self.id:
            pytest.fail(f"{type(self).__name__} must say which component it tests: kind = 'agent'; id = 'codex'")
        results = list(run_conformance(Catalog.installed(), self.kind, self.id, self.options, self.models, self.access))
        failed = [f"{r.id}: {r.reason}: {r.detail}" for r in results if not r.ok and r.level == "must"]
        assert results, "nothing was checked"
        assert not failed, "\n".join(failed)
