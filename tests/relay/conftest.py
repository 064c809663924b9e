"""The Relay line's tests; each file skips by itself where `tvm.relay` is not there."""

import os

# Otherwise TVM fetches schedules for every target it meets.
os.environ.setdefault("TOPHUB_LOCATION", "NONE")
