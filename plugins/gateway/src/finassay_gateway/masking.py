"""Takes keys out of what goes back to an agent: an upstream may repeat what it was sent."""

from collections.abc import Iterable
from typing import Final

MASK: Final = b"[key]"
_PIECE: Final = 8
SHORTEST: Final = 8
"""Shorter ones are words (`none`, `EMPTY`) for servers that want no key, and masking them would spoil answers."""


class Masker:
    """Takes secrets out of a stream, also those that are spread over two chunks. Holds back only what may be the beginning of one."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted((s.encode() for s in secrets if len(s) >= SHORTEST), key=len, reverse=True)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What may be passed on of this and of what was held back."""
        data = self.whole(self._held + data)
        keep = max((self._begins(data, secret) for secret in self._secrets), default=0)
        self._held = data[len(data) - keep :] if keep else b""
        return data[: len(data) - keep] if keep else data

    def rest(self) -> bytes:
        """What was held back at the end."""
        held, self._held = self._held, b""
        return held

    def whole(self, data: bytes) -> bytes:
        """A complete text without the secrets."""
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, MASK)
        return data

    def strictly(self, data: bytes) -> bytes:
        """A complete text without the secrets and without longer pieces of them, as errors like to tell."""
        data = self.whole(data)
        for secret in self._secrets:
            for start in range(max(0, len(secret) - _PIECE + 1)):
                data = data.replace(secret[start : start + _PIECE], MASK)
        return data

    @staticmethod
    def _begins(data: bytes, secret: bytes) -> int:
        """How many bytes at the end of `data` are the beginning of `secret`."""
        start = max(0, len(data) - len(secret) + 1)
        while (start := data.find(secret[:1], start)) >= 0:
            if secret.startswith(data[start:]):
                return len(data) - start
            start += 1
        return 0
