"""Taking delivery of hostile folders: bounded, recorded, nothing followed."""

import os
import resource

import pytest

from finassay.records.blobs import BlobStore
from finassay.session.intake import IntakeLimits, displayed, restore_delivery, take_delivery


@pytest.fixture
def deliver(tmp_path):
    (tmp_path / "workspace" / "deliver").mkdir(parents=True)
    return tmp_path / "workspace" / "deliver"


def take(deliver, **limits):
    return take_delivery(deliver.parent, 1, BlobStore(deliver.parent.parent / "blobs"), IntakeLimits(**limits))


def test_files_are_stored_by_content(deliver):
    (deliver / "a.csv").write_text("x\n")
    (deliver / "sub").mkdir()
    (deliver / "sub" / "b.csv").write_text("x\n")
    delivery = take(deliver)
    assert [f.path for f in delivery.files] == ["a.csv", "sub/b.csv"]
    assert delivery.files[0].sha256 == delivery.files[1].sha256
    assert len(list((deliver.parent.parent / "blobs").rglob("?" * 64))) == 1


def test_a_link_out_of_the_workspace_is_not_followed(deliver, tmp_path):
    (tmp_path / "secret").write_text("hidden")
    (deliver / "link").symlink_to(tmp_path / "secret")
    (deliver / "folder").symlink_to(tmp_path)
    delivery = take(deliver)
    assert delivery.files == ()
    assert {r.path: r.reason for r in delivery.rejected} == {"folder": "is a link", "link": "is a link"}


def test_deliver_itself_may_be_a_link(deliver, tmp_path):
    deliver.rmdir()
    deliver.symlink_to(tmp_path)
    assert take(deliver).rejected[0].reason == "is a link or no folder"


def test_a_fifo_and_a_socket_do_not_block(deliver):
    os.mkfifo(deliver / "pipe")
    assert take(deliver).rejected[0].reason == "is no regular file"


def test_a_sparse_two_gigabyte_file_is_refused_at_once(deliver):
    with open(deliver / "huge.csv", "wb") as stream:
        stream.truncate(2 * 2**30)
    (deliver / "small.csv").write_text("x")
    delivery = take(deliver)
    assert [f.path for f in delivery.files] == ["small.csv"]
    assert "larger" in delivery.rejected[0].reason


def test_too_many_files_are_bounded(deliver):
    for number in range(60):
        (deliver / f"{number:03}").write_text(str(number))
    delivery = take(deliver, files=50)
    assert len(delivery.files) == 50
    assert "more than 50 files" in delivery.rejected[-1].reason
    delivery = take(deliver, entries=10)
    assert len(delivery.files) <= 10
    assert any("more than 10 entries" in r.reason for r in delivery.rejected)


def test_deep_folders_are_bounded(deliver):
    deep = deliver.joinpath(*["d"] * 30)
    deep.mkdir(parents=True)
    (deep / "x").write_text("x")
    assert "deeper" in take(deliver).rejected[0].reason


def test_the_total_size_is_bounded(deliver):
    for name in "abc":
        (deliver / name).write_bytes(b"x" * 600)
    assert len(take(deliver, total_bytes=1000).files) == 1


def test_names_with_control_characters_are_refused_and_shown_harmless(deliver):
    (deliver / "evil\x1b[31m.csv").write_text("x")
    (deliver / "rtl\u202egnp.csv").write_text("x")
    os.close(os.open(os.fsencode(deliver) + b"/bad\xff.csv", os.O_CREAT | os.O_WRONLY))
    delivery = take(deliver)
    assert delivery.files == ()
    assert len(delivery.rejected) == 3
    for rejected in delivery.rejected:
        assert "\x1b" not in rejected.path
        assert "\u202e" not in rejected.path
        rejected.path.encode("utf-8")


def test_an_unreadable_folder_is_told(deliver, monkeypatch):
    (deliver / "closed").mkdir()
    real = os.scandir

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert take(deliver).rejected[0].reason.startswith("cannot be listed")


def test_memory_does_not_grow_with_file_size(deliver):
    (deliver / "big.bin").write_bytes(os.urandom(2**20) * 64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    take(deliver)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 48 * 1024


def test_restore_puts_exactly_the_recorded_tree_back(deliver):
    (deliver / "keep.csv").write_text("1")
    blobs = BlobStore(deliver.parent.parent / "blobs")
    delivery = take_delivery(deliver.parent, 1, blobs)
    (deliver / "keep.csv").write_text("changed")
    (deliver / "new.csv").write_text("2")
    restore_delivery(deliver.parent, delivery, blobs)
    assert sorted(p.name for p in deliver.iterdir()) == ["keep.csv"]
    assert (deliver / "keep.csv").read_text() == "1"


def test_blobs_refuse_names_that_are_no_hash(tmp_path):
    store = BlobStore(tmp_path)
    for name in ("../../etc/passwd", "x" * 64, "", "a" * 63):
        with pytest.raises(KeyError):
            store.path(name)


def test_displayed_bounds_length():
    assert len(displayed("x" * 10_000)) <= 300
