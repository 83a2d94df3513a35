"""What a box must keep from its programs of the machine's files."""

import ctypes
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path

from finassay.testing.sandboxes.boxes import SECRET, SandboxSubject, ask, isolates, opened, require, scratch, victim

SECRETS = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssl/private",
    "/etc/ssh",
    "/var/lib/cloud",
    "/run/secrets",
    "/run/docker.sock",
)


def _unseen(subject: SandboxSubject, code: str, **values: object) -> None:
    """A program that tries to read a secret beside its workspace by `code`, which leaves what it read in `answer`."""
    with scratch() as folder, opened(subject) as box:
        (folder / "secret").write_text(SECRET)
        answer = ask(box, code, secret=str(folder / "secret"), folder=str(folder), inside=box.inside, **values)
        require(SECRET not in str(answer), f"it was read: {str(answer)[:200]}")


@isolates("files", "hides-files", "an agent must not read tasks, runs or other sessions, nor list their folders")
def _hides(subject: SandboxSubject) -> None:
    _unseen(subject, "answer = read(V['secret'])")
    with scratch() as folder, opened(subject) as box:
        (folder / "a-task").touch()
        seen = ask(
            box, "answer = [listed(p) for p in V['folders']]", folders=[str(folder), tempfile.gettempdir(), str(box.workspace.parent)]
        )
        require(not any("a-task" in names or folder.name in names for names in seen), f"lists {seen}"[:300])


@isolates("files", "hides-names", "whether a file of a guessed name exists is knowledge too", level="should")
def _names(subject: SandboxSubject) -> None:
    with scratch() as folder, opened(subject) as box:
        (folder / "secret").touch()
        require(not ask(box, "answer = os.path.exists(V['path'])", path=str(folder / "secret")), "it can ask whether a file outside exists")


@isolates("files", "changes-nothing-outside", "no file outside is written, emptied, replaced, moved or deleted, and none is added")
def _changes(subject: SandboxSubject) -> None:
    code = """
path, beside = V["secret"], V["folder"] + "/new"
for attempt in (
    lambda: open(path, "a").write("x"), lambda: open(path, "r+").write("x"), lambda: open(path, "w"), lambda: os.truncate(path, 0),
    lambda: os.unlink(path), lambda: os.rename(path, beside), lambda: os.rename(path, "taken"), lambda: open(beside, "w"),
    lambda: os.mkdir(beside), lambda: os.symlink("x", beside), lambda: os.mkfifo(beside), lambda: os.replace("own", path),
    lambda: os.rmdir(V["folder"] + "/empty"),
):
    open("own", "w").write("own")
    done(attempt)
answer = None"""
    with scratch() as folder, opened(subject) as box:
        (folder / "secret").write_text(SECRET)
        (folder / "empty").mkdir()
        ask(box, code, secret=str(folder / "secret"), folder=str(folder))
        require(sorted(p.name for p in folder.iterdir()) == ["empty", "secret"], f"outside are now {sorted(os.listdir(folder))}")
        require((folder / "secret").read_text() == SECRET, "a file outside was changed")


@isolates("files", "changes-no-metadata-outside", "a file that its owner cannot open any more is as good as gone", level="should")
def _metadata(subject: SandboxSubject) -> None:
    with scratch() as folder, opened(subject) as box:
        (folder / "secret").touch()
        before = (folder / "secret").stat()
        ask(box, "answer = [done(os.chmod, V['p'], 0), done(os.utime, V['p'], (1, 1))]", p=str(folder / "secret"))
        after = (folder / "secret").stat()
        require((before.st_mode, before.st_mtime) == (after.st_mode, after.st_mtime), "it changed the mode or times of a file outside")


@isolates("files", "system-is-read-only", "what every session runs must not be changed by one")
def _system(subject: SandboxSubject) -> None:
    name = f"finassay-conformance-{os.getpid()}"
    places = [
        p
        for p in ("/", "/bin", "/boot", "/etc", "/home", "/lib", "/opt", "/root", "/srv", "/usr", "/usr/bin", "/usr/lib", "/var")
        if os.path.isdir(p)
    ]
    with opened(subject) as box:
        ask(box, "answer = [done(open, os.path.join(p, V['name']), 'w') for p in V['places']]", name=name, places=places)
    made = [Path(place, name) for place in places if os.path.exists(os.path.join(place, name))]
    for path in made:
        path.unlink()
    require(not made, f"made {[str(p) for p in made]} on the host")


@isolates("files", "readable-is-read-only", "a folder that was named can be read, and only that")
def _readable(subject: SandboxSubject) -> None:
    with scratch() as folder:
        (folder / "shown").mkdir()
        (folder / "shown" / "file").write_text("data")
        (folder / "beside").write_text(SECRET)
        with opened(subject, readable=(folder / "shown",)) as box:
            code = "answer = [read(V['shown'] + '/file'), listed(V['shown']), read(V['shown'] + '/../beside')]\nfor n in ('file', 'new'): done(open, V['shown'] + '/' + n, 'w')"
            seen = ask(box, code, shown=str(folder / "shown"))
            require(seen == ["data", ["file"], ""], f"sees {seen}")
            require((folder / "shown" / "file").read_text() == "data" and len(list((folder / "shown").iterdir())) == 1, "it was written")


@isolates("files", "hidden-contents", "graders and grammars that are installed beside an agent are not for it")
def _hidden(subject: SandboxSubject) -> None:
    require(SECRET not in str(_look_at_hidden(subject)), "what lies in a hidden folder was read")


@isolates("files", "hidden-names", "not even the names of the files in a hidden folder are shown", level="should")
def _hidden_names(subject: SandboxSubject) -> None:
    require("a-grammar" not in str(_look_at_hidden(subject)), "what lies in a hidden folder is listed")


def _look_at_hidden(subject: SandboxSubject) -> object:
    with scratch() as folder:
        (folder / "packages" / "grammar").mkdir(parents=True)
        (folder / "packages" / "grammar" / "a-grammar.py").write_text(SECRET)
        (folder / "packages" / "other").mkdir()
        (folder / "packages" / "other" / "module.py").write_text("other")
        (folder / "alias").symlink_to("packages")
        (folder / "packages" / "tasks.py").write_text(SECRET)
        hidden, readable = (folder / "packages" / "grammar", folder / "packages" / "tasks.py"), (folder / "alias",)
        with opened(subject, readable=readable, hidden=hidden) as box:
            code = """
answer = []
for name in ("alias", "packages"):
    root = os.path.join(V["folder"], name)
    assert read(root + "/other/module.py") == "other"
    assert "other" in listed(root)
    answer += [listed(root + "/grammar"), read(root + "/grammar/a-grammar.py"), read(root + "/tasks.py")]"""
            return ask(box, code, folder=str(folder))


@isolates("files", "hides-secrets", "passwords, private keys and sockets of services")
def _secrets(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        seen = ask(box, "answer = [p for p in V['paths'] if read(p, 1) or listed(p)]", paths=SECRETS)
        require(not seen, f"reads {seen}")


@isolates("files", "hides-homes", "the user's keys, histories and settings of other programs")
def _homes(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        homes = sorted({str(Path.home()), "/root", *(str(p) for p in Path("/home").glob("*"))})
        code = "answer = {h: [n for n in listed(h) if n.startswith('.')] for h in V['homes']}"
        shown = {part for folder in box_folders() for part in (*folder.parts,)}
        seen = {home: [n for n in names if n not in shown] for home, names in ask(box, code, homes=homes).items()}
        require(not any(seen.values()), f"lists {seen}"[:300])


def box_folders() -> tuple[Path, ...]:
    from finassay.runs.interpreter import interpreter_folders

    return tuple(p for folder in interpreter_folders() for p in (folder, folder.resolve()))


@isolates("files", "private-temporary-folder", "neither side finds the other's temporary files")
def _temporary(subject: SandboxSubject) -> None:
    name = f"finassay-conformance-{os.getpid()}-{time.monotonic_ns()}"
    with opened(subject) as box, tempfile.NamedTemporaryFile(prefix=name) as planted:
        code = "answer = [n for p in ('/tmp', '/var/tmp', V['tmp'], os.environ['TMPDIR']) for n in listed(p)]\ndone(open, '/tmp/' + V['name'], 'w')"
        seen = ask(box, code, name=f"{name}-inside", tmp=tempfile.gettempdir())
        require(Path(planted.name).name not in seen, "sees the host's")
        inside = Path("/tmp", f"{name}-inside")
        found = inside.exists()
        inside.unlink(missing_ok=True)
        require(not found, "writes into the host's")


@isolates("files", "private-shared-memory", "files in /dev/shm are memory that others read")
def _shared(subject: SandboxSubject) -> None:
    if not os.path.isdir("/dev/shm"):
        return
    planted = Path("/dev/shm", f"finassay-conformance-{os.getpid()}")
    planted.write_text(SECRET)
    try:
        with opened(subject) as box:
            code = "answer = [read(V['path']), listed('/dev/shm'), done(open, V['path'] + '-inside', 'w')]"
            seen = ask(box, code, path=str(planted))
            inside = Path(f"{planted}-inside")
            found = inside.exists()
            inside.unlink(missing_ok=True)
            require(SECRET not in str(seen) and planted.name not in str(seen), "sees the host's")
            require(not found, "writes into the host's")
    finally:
        planted.unlink()


@isolates("files", "boxes-are-apart", "two sessions never see each other")
def _apart(subject: SandboxSubject) -> None:
    with opened(subject) as first, opened(subject) as second:
        (first.workspace / "mine").write_text(SECRET)
        ask(
            first,
            "answer = [done(open(os.environ['TMPDIR'] + '/' + V['s'], 'w').write, V['s']), open('told', 'w').write(os.environ['TMPDIR'])]",
            s=SECRET,
        )
        told = (first.workspace / "told").read_text()
        code = "answer = [read(p) for p in V['paths']] + [listed(p) for p in V['folders']]"
        folders = [str(first.workspace), told, "/tmp", str(first.workspace.parent)]
        seen = ask(second, code, paths=[str(first.workspace / "mine"), f"{told}/{SECRET}"], folders=folders)
        require(SECRET not in str(seen) and "mine" not in str(seen), f"one box sees the other: {seen}"[:300])


@isolates("files", "symbolic-links-out", "a link in the workspace that leads out leads nowhere")
def _symlinks(subject: SandboxSubject) -> None:
    code = """
os.symlink(V["secret"], "link"); os.symlink(V["folder"], "folder"); os.symlink("../" * 20 + V["secret"], "up"); os.symlink("/proc/self/root" + V["secret"], "root")
answer = [read("link"), read("folder/secret"), read("up"), read("root")]"""
    _unseen(subject, code)


@isolates("files", "hard-links-out", "a second name for a file outside would make it the agent's own")
def _hard_links(subject: SandboxSubject) -> None:
    _unseen(
        subject,
        "answer = [done(os.link, V['secret'], 'hard'), read('hard'), done(os.link, '/etc/passwd', 'passwd')]\nassert not answer[0] and not answer[2], answer",
    )


@isolates("files", "workspace-stays-where-it-is", "the harness reads the delivery at the workspace's path, whatever lies there")
def _workspace(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        inode = box.workspace.stat().st_ino
        code = "answer = [done(os.rename, V['inside'], V['inside'] + '2'), done(os.rmdir, V['inside']), done(os.rename, V['host'], V['host'] + '2')]"
        ask(box, code, inside=box.inside, host=str(box.workspace))
        require(box.workspace.is_dir() and box.workspace.stat().st_ino == inode, "the workspace was renamed or taken away")


@isolates("files", "no-devices", "disks, memory and terminals of the machine")
def _devices(subject: SandboxSubject) -> None:
    code = """
import stat
disk = [p for n in listed("/dev") if os.path.exists(p := "/dev/" + n) and stat.S_ISBLK(os.stat(p).st_mode)]
blocks = V["blocks"]
made = []
for number, (major, minor) in enumerate(blocks):
    for kind in (stat.S_IFBLK, stat.S_IFCHR):
        if done(os.mknod, f"node{number}{kind}", kind | 0o600, os.makedev(major, minor)): made.append(read(f"node{number}{kind}", 1) or "made")
answer = made + [p for p in (*disk, "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/fuse", "/dev/kvm", *V["disks"]) if done(os.open, p, os.O_RDONLY)]"""
    disks = [entry.path for entry in os.scandir("/dev") if Path(entry.path).is_block_device()][:20]
    numbers = sorted(
        {(os.major(n), os.minor(n)) for n in (os.stat(d).st_rdev for d in disks)}
        | {(1, 1), (1, 2), (os.major(os.stat("/").st_dev), os.minor(os.stat("/").st_dev))}
    )
    with opened(subject) as box:
        seen = ask(box, code, disks=disks, blocks=numbers)
        require(not seen, f"opens or makes {seen}")


@isolates("files", "no-mounts", "what can be mounted can be uncovered")
def _mounts(subject: SandboxSubject) -> None:
    code = """
os.mkdir("m")
answer = [libc.mount(b"none", b"m", b"tmpfs", 0, None), libc.mount(b"/", b"m", None, 4096, None), libc.mount(b"proc", b"m", b"proc", 0, None)]
for path in (b"/tmp", b"/proc", b"/usr", b"/dev/shm", b"/etc/passwd", os.fsencode(V["inside"])): answer.append(libc.umount2(path, 2))
answer.append(libc.mount(b"none", b"/", None, 32 | 4096, None))
answer.append(read(V["secret"]))
assert not any(x == 0 for x in answer), answer"""
    _unseen(subject, code)


@isolates("files", "no-way-out-of-a-root", "the classic escape: another root, then up from a folder outside of it")
def _chroot(subject: SandboxSubject) -> None:
    code = """
os.mkdir("jail")
held = os.open(".", os.O_RDONLY)
done(os.chroot, "jail")
done(os.fchdir, held)
for _ in range(30): done(os.chdir, "..")
done(os.chroot, ".")
answer = [read(V["secret"]), read(V["secret"][1:]), listed(V["folder"][1:])]"""
    _unseen(subject, code)


@isolates("files", "no-way-by-other-processes", "the root, folder and open files of every process that can be seen")
def _ways(subject: SandboxSubject) -> None:
    code = """
answer = []
for pid in numbered():
    answer += [read(f"/proc/{pid}/root{V['secret']}"), read(f"/proc/{pid}/cwd/secret"), read(f"/proc/{pid}/cwd/held")]
    answer += [read(f"/proc/{pid}/fd/{n}") for n in listed(f"/proc/{pid}/fd") if int(n) > 2 and int(pid) != os.getpid()]
"""
    with victim():
        _unseen(subject, code)


@isolates("files", "no-way-by-handles", "a file's handle opens it past every path, if one may")
def _handles(subject: SandboxSubject) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with scratch() as folder, opened(subject) as box:
        (folder / "secret").write_text(SECRET)
        handle, mount = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(4), 136), ctypes.c_int()
        if libc.name_to_handle_at(-100, os.fsencode(folder / "secret"), handle, ctypes.byref(mount), 0) != 0:
            return  # this file system has none
        code = """
handle = ctypes.create_string_buffer(bytes.fromhex(V["handle"]), 136)
opened = libc.open_by_handle_at(os.open(".", os.O_RDONLY), handle, os.O_RDONLY)
answer = os.read(opened, 100).decode() if opened >= 0 else ''"""
        require(ask(box, code, handle=handle.raw.hex()) == "", "a file outside was opened by its handle")


@isolates("files", "kernel-settings-are-read-only", "`core_pattern` names a program that the kernel runs outside every box")
def _settings(subject: SandboxSubject) -> None:
    code = """
paths = [os.path.join(f, n) for f, _, names in os.walk("/proc/sys") for n in names]
paths += ["/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/release_agent", "/sys/kernel/mm/ksm/run"]
paths += [os.path.join("/proc", n) for n in listed("/proc") if os.path.isfile("/proc/" + n)]
own = []  # settings of a namespace that the box has for itself are its own
if os.readlink("/proc/self/ns/ipc") != V["ipc"]:
    own += ["/proc/sys/fs/mqueue/", *("/proc/sys/kernel/" + n for n in ("auto_msgmni", "msg", "sem", "shm"))]
if os.readlink("/proc/self/ns/net") != V["net"]: own.append("/proc/sys/net/")
if os.readlink("/proc/self/ns/pid") != V["pid"]: own += ["/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/pid_max"]
answer = [p for p in paths if not p.startswith(tuple(own)) and done(lambda: os.close(os.open(p, os.O_WRONLY)))]"""
    with opened(subject) as box:
        seen = ask(box, code, **{n: os.readlink(f"/proc/self/ns/{n}") for n in ("ipc", "net", "pid")})
        require(not seen, f"{len(seen)} can be written: {seen[:20]}")


@isolates("files", "no-foreign-unix-sockets", "D-Bus, a container engine or an agent of keys would act for whoever asks")
def _unix(subject: SandboxSubject) -> None:
    folder = Path(tempfile.mkdtemp(prefix="conform-"))
    try:
        with socket.socket(socket.AF_UNIX) as server, opened(subject) as box:
            server.bind(str(folder / "s"))
            os.chmod(folder / "s", 0o777)
            server.listen()
            code = """
def reach(path):
    with socket.socket(socket.AF_UNIX) as s: s.connect(path)
def send(path):
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", path)
answer = [p for p in V["paths"] if done(reach, p) or done(send, p)]"""
            known = [
                "/run/dbus/system_bus_socket",
                "/run/docker.sock",
                "/run/systemd/private",
                "/dev/log",
                os.environ.get("SSH_AUTH_SOCK", ""),
            ]
            seen = ask(box, code, paths=[str(folder / "s"), *(path for path in known if path)])
            require(not seen, f"connects to {seen}")
    finally:
        shutil.rmtree(folder)


@isolates("files", "no-keyrings", "no namespace hides what the kernel keeps for a user: tickets, tokens, passwords of file systems")
def _keyrings(subject: SandboxSubject) -> None:
    numbers = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine)
    if numbers is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    rings = (-3, -4)  # of the session, of the user
    keys = [libc.syscall(numbers[0], b"user", f"finassay-{os.getpid()}".encode(), SECRET.encode(), len(SECRET), ring) for ring in rings]
    try:
        with opened(subject) as box:
            code = """
text = ctypes.create_string_buffer(100)
answer = [read("/proc/keys")]
for key in V["keys"]:
    libc.syscall(V["call"], 11, key, text, 100)
    answer.append(text.raw.decode("latin-1"))"""
            seen = str(ask(box, code, keys=[key for key in keys if key > 0], call=numbers[1]))
            require(SECRET not in seen, "a key of the user was read")
    finally:
        for key, ring in zip(keys, rings, strict=True):
            if key > 0:
                libc.syscall(numbers[1], 9, key, ring)


@isolates("files", "hides-names-of-keys", "what the keys of a user are for", level="should")
def _key_names(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        require(not ask(box, "answer = read('/proc/keys')"), "they are listed in /proc/keys")
