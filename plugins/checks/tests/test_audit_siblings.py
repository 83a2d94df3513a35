"""Siblings of the shared cases and their clean twins: a fault of the kind is found on other inputs, and its clean twin passes."""

from pathlib import Path

import numpy as np
import pytest

from finassay_checks.audit.folder import open_folder
from finassay_checks.audit.run import audit_folder
from finassay_checks.audit.shown import as_json

from .audit_siblings import FAMILIES, Expected, Files, faults_of

SEEDS = (1, 2)


def told(files: Files, folder: Path, expected: Expected) -> list[str]:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return faults_of(as_json(audit_folder(open_folder(folder))), expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_siblings_and_their_clean_twins(family, seed, tmp_path):
    made = list(FAMILIES[family](np.random.default_rng([seed, int(family[1:])])))
    assert made
    for index, (label, files, expected) in enumerate(made):
        assert not told(files, tmp_path / str(index), expected), (label, sorted(files))
