"""Conformance of sandboxes: what a box must do, and every way out of one that we could think of.

A check of isolation applies where the sandbox claims that part (`Isolation`); where it does not, the result says so.
"""

from finassay.testing.sandboxes import ending, files, meeting, network, running
from finassay.testing.sandboxes.boxes import SandboxSubject

__all__ = ["SandboxSubject", "ending", "files", "meeting", "network", "running"]
