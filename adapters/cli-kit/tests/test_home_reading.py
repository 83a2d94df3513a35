"""Reading what a program left in its home, which it may have left for us to trip over."""

import os
from pathlib import Path

import pytest

from finassay_cli_kit import as_words, read_home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("hidden")
    home = tmp_path / "workspace" / ".home" / "a"
    home.mkdir(parents=True)
    (home / "file").write_text("0123456789")
    return tmp_path / "workspace"


def test_a_file_is_read_from_an_offset_and_bounded(workspace):
    assert read_home(workspace, "a/file") == b"0123456789"
    assert read_home(workspace, "a/file", 4, 3) == b"456"
    assert read_home(workspace, "a/file", 100) == b""


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../../secret", "a/../../../secret", "a", "a/none", "none/file", "a/fi\0le", ".", "a/x" * 2000]
)
def test_what_is_no_file_of_the_home_reads_as_nothing(workspace, path):
    assert read_home(workspace, path) == b""
    assert sorted(p.name for p in (workspace / ".home").iterdir()) == ["a"]


def test_no_link_is_followed_and_nothing_waits(workspace):
    home = workspace / ".home" / "a"
    (home / "link").symlink_to(workspace.parent / "secret")
    os.link(workspace.parent / "secret", home / "hard")
    os.mkfifo(home / "pipe")
    (workspace / ".home" / "out").symlink_to(workspace.parent)
    for path in ("a/link", "a/hard", "a/pipe", "out/secret"):
        assert read_home(workspace, path) == b""


def test_a_message_that_begins_with_a_slash_is_words():
    assert as_words(" /quit") == "The message is:\n /quit"
    assert as_words("5/3 and /x") == "5/3 and /x"
