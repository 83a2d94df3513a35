"""Taking delivery of hostile folders: bounded, recorded, nothing followed."""

import os
import resource

import pytest

from finassay.records.blobs import BlobStore
from finassay.session.intake import IntakeLimits, displayed, prepare_delivery, restore_delivery, take_delivery


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


def as_nobody(folder, call):
    """What `call` gives in a process without root's privileges, to whom `folder` belongs; permissions bind nobody else."""
    if os.geteuid() != 0:
        return call()
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == 0 and parent.stat().st_mode & 0o5 != 0o5 and str(parent) != "/":
            parent.chmod(parent.stat().st_mode | 0o5)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    reader, writer = os.pipe()
    if not (child := os.fork()):
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(writer, repr(call()).encode())
        except BaseException as error:
            os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader, encoding="utf-8") as stream:
        told = stream.read()
    assert not told.endswith(")") or "Error(" not in told, told
    return told


def test_an_agent_that_locks_its_folders_is_no_failure_of_the_harness(deliver):
    (deliver / "a.csv").write_text("x\n")
    (deliver / "locked").mkdir()
    workspace, blobs = deliver.parent, BlobStore(deliver.parent / "blobs")

    def act():
        (deliver / "locked").chmod(0)
        workspace.chmod(0)
        taken = take_delivery(workspace, 1, blobs)
        return [f.path for f in taken.files], [(r.path, "cannot be listed" in r.reason) for r in taken.rejected]

    assert str(as_nobody(workspace, act)) == "(['a.csv'], [('locked', True)])"


def test_restoring_writes_through_no_link_that_was_left_under_a_locked_folder(deliver):
    (deliver / "sub").mkdir()
    (deliver / "sub" / "b.csv").write_text("delivered\n")
    workspace, blobs = deliver.parent, BlobStore(deliver.parent / "blobs")
    delivery = take_delivery(workspace, 1, blobs)
    outside = workspace / "outside"
    outside.write_text("untouched")

    def act():
        (deliver / "sub" / "b.csv").unlink()
        (deliver / "sub" / "b.csv").symlink_to(outside)
        (deliver / "sub").chmod(0o500)
        workspace.chmod(0o500)
        restore_delivery(workspace, delivery, blobs)
        return outside.read_text(), (deliver / "sub" / "b.csv").read_text(), (deliver / "sub" / "b.csv").is_symlink()

    assert str(as_nobody(workspace, act)) == "('untouched', 'delivered\\n', False)"


def test_restoring_clears_a_tree_that_is_too_deep_for_a_path(deliver):
    (deliver / "a.csv").write_text("x")
    blobs = BlobStore(deliver.parent.parent / "blobs")
    delivery = take_delivery(deliver.parent, 1, blobs)
    here = os.open(deliver, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("d" * 50, dir_fd=here)
        deeper = os.open("d" * 50, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert "lies deeper" in take(deliver).rejected[0].reason
    restore_delivery(deliver.parent, delivery, blobs)
    assert os.listdir(deliver) == ["a.csv"]
    assert os.listdir(deliver.parent) == ["deliver"]


def test_what_stands_in_the_place_of_deliver_gives_way(deliver, tmp_path):
    deliver.rmdir()
    for spoil in (lambda: deliver.symlink_to(tmp_path / "nowhere"), lambda: deliver.write_text("a file"), lambda: os.mkfifo(deliver)):
        spoil()
        prepare_delivery(deliver.parent)
        assert not deliver.is_symlink()
        assert os.listdir(deliver) == []
        deliver.rmdir()
