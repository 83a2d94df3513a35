"""Lets the tests of this folder import `reading_model`, their shared helper."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
