"""The folder of data that the repository does not carry; see CONTRIBUTING."""

import os
from pathlib import Path

DATA = Path(os.environ.get("TVM_MEMPLAN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
