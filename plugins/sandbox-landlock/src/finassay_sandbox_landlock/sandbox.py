"""The sandbox `landlock`."""

import marshal
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Isolation, Probe
from finassay.records.scratch import Scratch
from finassay_sandbox_landlock import confine
from finassay_sandbox_landlock.plan import Tier, abi, plan
from finassay_sandbox_local.calls import supported
from finassay_sandbox_local.process import BoundedProcess
from finassay_sandbox_local.sandbox import LocalBox
from finassay_sandbox_local.way import interpreter

HINT: Final = "It needs Linux 5.13 or newer with Landlock among its security modules (see /sys/kernel/security/lsm), on x86-64 or arm64."


class LandlockOptions(BaseModel):
    """Settings of the sandbox."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    namespaces: bool = Field(default=True, description="Use namespaces besides, where the kernel grants them.")
    tmp_bytes: int = Field(default=2 * 2**30, gt=0, description="Size of the private /tmp and of /dev/shm, where there are namespaces.")


def isolation(tier: Tier, *, network: bool, services: bool) -> Isolation:
    """What is enforced. A rule for a port holds for every address, so that with services and no namespace the network is not isolated."""
    apart = tier.spaces or not services
    return Isolation(files=True, network=apart and not network, processes=tier.hides and tier.abi >= 6)


class LandlockBox(LocalBox):
    """One workspace; every program confines itself before it starts."""

    def __init__(self, spec: BoxSpec, tier: Tier, tmp_bytes: int) -> None:
        self._scratch = Scratch("box")
        self._own = self._scratch.path
        (self._own / "empty").mkdir()
        (self._own / "nothing").touch()
        self._tier, self._tmp_bytes = tier, tmp_bytes
        try:
            plan(spec, tier, self._own, spec.workspace, tmp_bytes)
            super().__init__(spec)
        except SandboxError:
            self._scratch.close()
            raise
        self.isolation = isolation(tier, network=spec.network, services=bool(spec.services))

    def spawn(
        self, argv: Sequence[str], *, stdin: bytes | None = b"", environment: Mapping[str, str] | None = None, cwd: str = "."
    ) -> BoundedProcess:
        """Start a program in the box. Raises `SandboxError`."""
        folder = self.folder(cwd)
        described = os.memfd_create("box")  # whose content, unlike an argument, only the program's start reads
        try:
            with open(os.dup(described), "wb") as stream:
                stream.write(marshal.dumps(plan(self._spec, self._tier, self._own, folder, self._tmp_bytes)))
            os.lseek(described, 0, os.SEEK_SET)
            command = [interpreter(), "-I", "-S", str(confine.__file__), str(described), *argv]
            given = {"TMPDIR": "/tmp"} if self._tier.spaces else {}
            return self.start(command, stdin=stdin, environment={**given, **(environment or {})}, folder=folder, pass_fds=(described,))
        finally:
            os.close(described)

    def close(self) -> None:
        super().close()
        self._scratch.close()


class LandlockSandbox:
    """Files by Landlock, the rest by seccomp and, where the kernel grants them, namespaces."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "Landlock and seccomp: an agent reads its workspace and the system's files; needs no program"
    Options: ClassVar[type[BaseModel]] = LandlockOptions
    id = "landlock"

    def __init__(self, options: LandlockOptions) -> None:
        self.options = options

    @property
    def isolation(self) -> Isolation:
        """What holds for every box here, found by trying."""
        tier = self._found[0]
        return Isolation(False, False, False) if tier is None else isolation(tier, network=False, services=True)

    def probe(self) -> Probe:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[Tier | None, Probe]:
        """The most that works here, tried for real."""
        version = abi()
        if version < 1 or not supported():
            return None, Probe(False, "this kernel has no Landlock" if version < 1 else "this processor's system calls are not known", HINT)
        tiers = [Tier(version, spaces=False)]
        if self.options.namespaces:
            root = os.geteuid() == 0
            tiers = [*([Tier(version, True, hides=True)] if root else []), Tier(version, True, user=not root), *tiers]
        for tier in tiers:
            try:
                wrong = _try(tier, self.options.tmp_bytes)
            except (OSError, SandboxError) as error:
                wrong = f"it cannot be tried: {error}"
            if not wrong:
                said = "with namespaces" if tier.spaces else "without namespaces: the names of files and of processes can be seen"
                return tier, Probe(True, f"works (Landlock version {version}, {said})")
        return None, Probe(False, wrong, HINT)

    def open(self, spec: BoxSpec) -> LandlockBox:
        tier, probe = self._found
        if tier is None:
            raise SandboxError(probe.detail, hint=probe.hint)
        if not spec.workspace.is_dir():
            raise SandboxError(f"{spec.workspace}: no such folder")
        return LandlockBox(spec, tier, self.options.tmp_bytes)


LOOK: Final = (
    'echo started > file; cat "$0" 2>/dev/null && echo "it does not confine files here"; kill -0 $1 2>/dev/null && echo "nor signals"; '
    "test -n \"$2\" && test -e /proc/$1 && echo 'it does not hide processes here'; exit 0"
)


def _try(tier: Tier, tmp_bytes: int) -> str:
    """Start a program that looks around; what is wrong, or nothing."""
    with Scratch("probe") as scratch:
        workspace, secret = scratch.path / "workspace", scratch.path / "secret"
        workspace.mkdir()
        secret.write_text("hidden\n")
        box = LandlockBox(BoxSpec(workspace), tier, tmp_bytes)
        try:
            other = os.getpid() if tier.abi >= 6 else 2**22 + 1  # which is never given
            process = box.spawn(["/bin/sh", "-c", LOOK, str(secret), str(other), "yes" if tier.hides else ""])
            said = b"\n".join(process.lines()).decode("utf-8", "replace").strip()
            code = process.wait(10)
            if code != 0 or said or not (workspace / "file").exists():
                reason = process.stderr_tail().strip().splitlines()
                return (said.splitlines() or reason or [f"exit code {code}"])[-1][:300]
        finally:
            box.close()
    return ""
