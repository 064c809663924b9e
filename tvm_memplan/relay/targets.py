"""`Configuration`: a target with the executor and runtime it is built for, in one place.

Alignment depends on the code generator. LLVM trusts the alignment a buffer declares (64 bytes for the arguments
of an operator) and may emit vector moves that fault at less; C code trusts only the type of the element.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tvm_memplan.dialects.line import require_relay_line
from tvm_memplan.errors import BadInput

_KINDS = ("llvm", "c")
_MICRO_CPUS = "cortex-m"


@dataclass(frozen=True)
class Configuration:
    """How a model is built.

    Parameters
    ----------
    target : str
        A TVM target.
    runtime : str
        ``cpp`` (TVM's runtime on a host) or ``crt`` (plain C for a microcontroller).
    interface_api : str
        ``packed`` or ``c``: how the model is called.
    unpacked_api : bool
        Whether operators take plain pointers.
    vectorize : bool
        Whether loops are turned into vector types, which the C code generator cannot express portably.
    alignment, constant_alignment : int
        Bytes, powers of two: every activation and workspace, and every weight, starts at a multiple.
    less_workspace : bool
        Whether operators end where the tensor between them is narrowest, and read their input through paddings and
        casts instead of storing a padded, widened copy of it (`tvm_memplan.relay.recut`,
        `tvm_memplan.transform.InlineCopies`). The results are the same bits.
    """

    target: str
    runtime: str = "cpp"
    interface_api: str = "packed"
    unpacked_api: bool = False
    vectorize: bool = True
    alignment: int = 64
    constant_alignment: int = 64
    less_workspace: bool = False

    @property
    def trusts_declared_alignment(self) -> bool:
        """Whether the code generator relies on the alignments that buffers declare."""
        return self.target.split()[0] != "c"

    def executor(self) -> Any:
        """TVM's AOT executor with these options."""
        from tvm.relay.backend import Executor

        return Executor(
            "aot",
            {
                "interface-api": self.interface_api,
                "unpacked-api": self.unpacked_api,
                "workspace-byte-alignment": self.alignment,
                "constant-byte-alignment": self.constant_alignment,
            },
        )

    def tvm_runtime(self) -> Any:
        """TVM's runtime."""
        from tvm.relay.backend import Runtime

        return Runtime(self.runtime)


def host_config(target: str = "llvm") -> Configuration:
    """Build for a processor that runs TVM's own runtime.

    Parameters
    ----------
    target : str
        A target of kind ``llvm`` or ``c``.
    """
    if target.split()[:1] == ["c"]:
        return Configuration(target, vectorize=False, alignment=16, constant_alignment=16)
    return Configuration(target)


def micro_config(cpu: str = "cortex-m3", *, less_workspace: bool = True) -> Configuration:
    """Build plain C for a microcontroller, called through structs of pointers.

    Parameters
    ----------
    cpu : str
        What TVM's ``-mcpu`` takes, for example ``cortex-m4``. The key ``arm_cpu`` chooses schedules that keep int8
        convolutions small; those of the plain C target widen them to int16 and double the memory.
    less_workspace : bool
        As in `Configuration`; False gives the operators as TVM makes them.
    """
    return Configuration(
        f"c -keys=arm_cpu -mcpu={cpu}",
        runtime="crt",
        interface_api="c",
        unpacked_api=True,
        vectorize=False,
        alignment=16,
        constant_alignment=16,
        less_workspace=less_workspace,
    )


def configuration_for(target: Any, executor: Any = None, runtime: Any = None) -> Configuration:
    """Return the configuration that a target is built with.

    Parameters
    ----------
    target : Configuration, str or tvm.target.Target
        A `Configuration` is returned as it is. C for a Cortex-M gets `micro_config`, all else `host_config`.
    executor : tvm.relay.backend.Executor or None
        Options that replace the usual ones; it has to be ``aot``.
    runtime : tvm.relay.backend.Runtime or None
        ``cpp`` or ``crt``.

    Raises
    ------
    BadInput
        When TVM does not know the target, it is not of kind ``llvm`` or ``c``, the executor is not ``aot``, or its
        options do not go together.
    """
    require_relay_line("planning a model")
    if isinstance(target, Configuration):
        config = target
    else:
        import tvm

        try:
            parsed = tvm.target.Target(target)
        except (ValueError, TypeError, tvm.error.TVMError) as error:
            raise BadInput(f"target {target!r}: {str(error).strip().splitlines()[-1]}") from error
        if parsed.kind.name not in _KINDS:
            # Elsewhere operators run in threads, whose memory is not the caller's and not planned here.
            raise BadInput(
                f"target {target!r}: models are planned for {' and '.join(_KINDS)}, not {parsed.kind.name!r}"
            )
        # As its user writes it where that is short; JSON is brought into the form that starts with the kind.
        text = target if isinstance(target, str) and target.startswith(_KINDS) else str(parsed)
        if parsed.kind.name == "c" and str(parsed.attrs.get("mcpu", "")).startswith(_MICRO_CPUS):
            config = replace(micro_config(), target=text)
        else:
            config = host_config(text)
    if runtime is not None:
        config = replace(config, runtime=str(runtime.name))
        if config.runtime == "cpp" and executor is None:
            config = replace(config, interface_api="packed", unpacked_api=False)
    if executor is not None:
        config = _with_executor(config, executor)
    if config.runtime == "cpp" and (config.interface_api != "packed" or config.unpacked_api):
        raise BadInput(
            "the cpp runtime calls models through the packed interface; "
            "use Runtime('crt') for interface-api=c or unpacked-api"
        )
    return config


def _with_executor(config: Configuration, executor: Any) -> Configuration:
    if executor.name != "aot":
        raise BadInput(f"executor {executor.name!r} cannot be planned; use Executor('aot')")
    options = dict(executor.items()) if hasattr(executor, "items") else {}

    return replace(
        config,
        interface_api=str(options.get("interface-api", "packed")),
        unpacked_api=bool(options.get("unpacked-api", False)),
        alignment=int(options.get("workspace-byte-alignment", config.alignment)),
        constant_alignment=int(options.get("constant-byte-alignment", config.constant_alignment)),
    )
