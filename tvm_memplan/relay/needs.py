"""The one place that says what to install when TVM is not there, or is the wrong one."""

from __future__ import annotations

import os

from tvm_memplan.errors import MissingDependency


def need_relay() -> None:
    """Make TVM with Relay ready for use.

    Raises
    ------
    MissingDependency
        There is no TVM, or one without Relay.
    """
    # Otherwise TVM tries to download tuned schedules for every target it meets.
    os.environ.setdefault("TOPHUB_LOCATION", "NONE")
    try:
        import tvm
    except ImportError as error:
        raise MissingDependency("this needs TVM 0.19: pip install 'tvm-memplan[relay]'") from error
    try:
        import tvm.relay
    except ImportError as error:
        raise MissingDependency(
            f"this needs TVM 0.19, and the TVM {tvm.__version__} installed here has no Relay: "
            "in an environment of its own, pip install 'tvm-memplan[relay]'"
        ) from error
