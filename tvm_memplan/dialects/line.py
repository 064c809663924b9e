"""Which TVM line is installed: the one place that knows versions.

The *Relay line* (TVM 0.19) has `tvm.relay` and `tvm.tir` with nested allocations; the *Relax line* (0.27; older ones
are refused) has `tvm.relax` and the flat `tvm.tirx`. Both are the module `tvm`, so an environment has at most one.
"""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType

from tvm_memplan.errors import MissingDependency, UnsupportedIR

RELAY = "relay"
RELAX = "relax"


def installed_line() -> str | None:
    """Return ``"relay"``, ``"relax"`` or None when no TVM is installed. Does not import TVM."""
    if importlib.util.find_spec("tvm") is None:
        return None
    return RELAY if importlib.util.find_spec("tvm.relay") is not None else RELAX


def require_relay_line(what: str) -> None:
    """Make sure that the Relay line is there to do `what`.

    Raises
    ------
    MissingDependency
        When there is no TVM, or it is of the Relax line; the message names the extra to install.
    """
    line = installed_line()
    if line is None:
        raise MissingDependency(f"{what} needs TVM 0.19: pip install 'tvm-memplan[relay]'")
    if line == RELAX:
        raise MissingDependency(
            f"{what} needs TVM 0.19, and the TVM installed here has no Relay: "
            "in an environment of its own, pip install 'tvm-memplan[relay]'"
        )
    # Without this every target tries to download tuned schedules when the first operator is lowered.
    os.environ.setdefault("TOPHUB_LOCATION", "NONE")


def relax_dialect() -> ModuleType:
    """Return the reader and writer of Relax functions.

    Raises
    ------
    MissingDependency
        When there is no TVM, or it is of the Relay line; the message names the extra to install.
    UnsupportedIR
        When the installed TVM's Relax cannot be read.
    """
    line = installed_line()
    if line != RELAX:
        has = "" if line is None else ", and the TVM installed here is planned through Relay"
        raise MissingDependency(
            f"planning Relax needs apache-tvm 0.27{has}: in an environment of its own, pip install 'tvm-memplan[relax]'"
        )
    tir_dialect()
    from tvm_memplan.dialects import relax

    return relax


def tir_dialect() -> ModuleType:
    """Return the reader and writer of the installed line's tensor IR: a module with `capture` and `rewrite`.

    Raises
    ------
    MissingDependency
        When no TVM is installed.
    UnsupportedIR
        When the installed TVM's tensor IR cannot be read.
    """
    line = installed_line()
    if line is None:
        raise MissingDependency(
            "planning TIR needs TVM: pip install 'tvm-memplan[relax]' for the TVM of today, "
            "or 'tvm-memplan[relay]' for 0.19"
        )
    if line == RELAY:
        from tvm_memplan.dialects import tir

        return tir
    import tvm

    # 0.25 and 0.26 have tirx too, but their buffers are objects of their own and not yet variables.
    if not hasattr(tvm.ir, "TensorLoad"):
        raise UnsupportedIR(
            f"the TIR passes read apache-tvm 0.27, this is {tvm.__version__}: pip install 'apache-tvm>=0.27,<0.28'"
        )
    from tvm_memplan.dialects import tirx

    return tirx
