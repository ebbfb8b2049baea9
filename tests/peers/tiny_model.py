"""The tiny model of examples/closed_loop."""
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "closed_loop"))

from tiny_model import *  # noqa: E402, F403
