"""The way in and out of TVM's lowering: its unified static memory planner (USMP) with an algorithm of ours.

::

    relay.build  ->  ...  ->  AssignPoolInfo  ->  algorithm(buffers)  ->  ConvertPoolAllocationsToOffsets  ->  code
                                   |                    |       ^
                             module recorded        `decide` -> plan

USMP hands its algorithm only sizes and conflicts. The module is recorded just before, so that the whole program can
be read from it; buffers are matched to the statements that allocate them, not by name.

USMP is not trusted with conflicts; `decide` gets them to compare. And the AOT executor of the C++ runtime counts its
arguments wrong when a model has no weights: then a constant byte is added, called `no_weights`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm_memplan.dialects.relay.capture import MAIN, Program, capture_program
from tvm_memplan.dialects.relay.layers import CallLayers, LayerTracker
from tvm_memplan.errors import MemPlanError, UnsupportedIR
from tvm_memplan.planning.model import Plan
from tvm_memplan.relay.aliasing import without_noalias
from tvm_memplan.relay.io_in_pool import put_back_body, show_only_io, with_output_names
from tvm_memplan.relay.less_workspace import lowering_passes, recut_instrument, what_was_done
from tvm_memplan.relay.pools import MOST_POOLS, pool_allocations
from tvm_memplan.relay.recut import Recut
from tvm_memplan.relay.targets import Configuration

_ALGORITHM = "tvm_memplan"

_active = threading.local()


@dataclass(frozen=True)
class Lowered:
    """A model, lowered and about to be planned.

    Parameters
    ----------
    program : Program
        What the module does to memory.
    offered : frozenset of str
        The buffers that TVM can move; the rest stays as it is.
    usmp_conflicts : frozenset of (str, str)
        Pairs of names, sorted, that TVM's own analysis keeps apart.
    infos : tuple of tvm.tir.usmp.BufferInfo
        What TVM hands to a planner.
    pressure : int
        What TVM takes for the memory pressure, bytes; not a bound of anything.
    notes : tuple of str
        What was done to the model on the way.
    layers : tuple of CallLayers
        Which layers of the model the operators are, one per call of the program; empty where that is not known.
    """

    program: Program
    offered: frozenset[str]
    usmp_conflicts: frozenset[tuple[str, str]]
    infos: tuple[Any, ...] = ()
    pressure: int = 0
    notes: tuple[str, ...] = ()
    layers: tuple[CallLayers, ...] = ()


def build_with(
    mod: Any,
    params: Mapping[str, Any] | None,
    config: Configuration,
    decide: Callable[[Lowered], Plan],
    *,
    opt_level: int,
    io_in_pool: bool,
    mod_name: str,
    most_pools: int = MOST_POOLS,
) -> Any:
    """Run `relay.build` and let `decide` place the buffers; it may raise to stop before code generation.

    More than `MOST_POOLS` pools are for callers that put the order of the pools in the generated calls right.

    Returns
    -------
    tvm.relay.backend.executor_factory.AOTExecutorFactoryModule

    Raises
    ------
    UnsupportedIR
        TVM cannot build the model.
    """
    import tvm
    from tvm import relay

    session = _session_class()(config, decide, io_in_pool, _outputs(mod), most_pools)
    around = tvm.transform.PassContext.current()
    options = {
        **dict(around.config.items()),
        "tir.usmp.enable": True,
        "tir.usmp.custom_algorithm": _ALGORITHM,
        "tir.usmp.use_workspace_io": io_in_pool,
    }
    if not config.vectorize:
        options["tir.disable_vectorize"] = True
    instruments = [*(around.instruments or ()), session]
    if config.less_workspace:
        options["tir.add_lower_pass"] = [*options.get("tir.add_lower_pass", ()), *lowering_passes()]
        instruments.append(recut_instrument(config, session.moved))
    instruments.append(tvm.instrument.pass_instrument(_Naming)(session.tracker))
    context = tvm.transform.PassContext(
        opt_level=opt_level,
        required_pass=list(around.required_pass),
        disabled_pass=list(around.disabled_pass),
        instruments=instruments,
        config=options,
    )
    outer = getattr(_active, "session", None)
    _active.session = session
    tvm.register_func(f"tir.usmp.algo.{_ALGORITHM}", _algorithm, override=True)
    try:
        with context:
            return relay.build(
                with_output_names(mod) if io_in_pool else mod,
                config.target,
                executor=config.executor(),
                runtime=config.tvm_runtime(),
                params=dict(params or {}),
                mod_name=mod_name,
            )
    except tvm.error.TVMError as error:
        raise UnsupportedIR(f"TVM cannot build the model for {config.target!r}: {_last_line(error)}") from error
    finally:
        _active.session = outer


def _algorithm(infos: Any, pressure: Any) -> Any:
    return _active.session.place(list(infos), int(pressure))


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]


def _session_class() -> Any:
    """The instrument's class; TVM makes instruments with a decorator, so it exists only where TVM does."""
    import tvm

    return tvm.instrument.pass_instrument(_Session)


class _Session:
    """Records the module before it is planned, and plans it when USMP asks."""

    def __init__(
        self,
        config: Configuration,
        decide: Callable[[Lowered], Plan],
        io_in_pool: bool,
        outputs: int | None,
        most_pools: int,
    ) -> None:
        self.most_pools = most_pools
        self.config = config
        self.io_in_pool = io_in_pool
        self.outputs = outputs
        self.decide = decide
        self.moved: list[Recut] = []
        self.tracker = LayerTracker()
        self.module: Any = None
        self.main_body: Any = None
        self.program: Program | None = None

    def run_before_pass(self, mod: Any, info: Any) -> None:
        if info.name == "tir.usmp.CreateAllocatesForIO":
            self.main_body = mod[MAIN].body
            show_only_io(mod, self.outputs)
        if info.name == "tir.transform.UnifiedStaticMemoryPlanner" and self.config.runtime == "cpp":
            program = capture_program(mod)
            if program.statements and not _has_weights(program):
                _add_a_constant(mod)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        if info.name == "tir.usmp.CreateAllocatesForIO":
            put_back_body(mod, self.main_body)
        if info.name == "tir.usmp.AssignPoolInfo":
            self.module = mod
            self.program = capture_program(mod, self.outputs)

    def place(self, infos: list[Any], pressure: int) -> dict[Any, Any]:
        if self.program is None:
            raise MemPlanError("TVM's planner ran before the module could be read")
        names = self._names(infos)
        conflicts = {
            (min(a, b), max(a, b))
            for info, a in names.items()
            for b in (names.get(other) for other in info.conflicts)
            if b is not None and a != b
        }
        offered = frozenset(names.values())
        notes = what_was_done(self.moved, self.module)
        layers = self.tracker.calls
        if [call.function for call in layers] != [call.function for call in self.program.calls]:
            layers = ()
        plan = self.decide(Lowered(self.program, offered, frozenset(conflicts), tuple(infos), pressure, notes, layers))
        without_noalias(self.module, self.program, plan)
        return pool_allocations(plan, names, self.config, self.io_in_pool, self.most_pools)

    def _names(self, infos: list[Any]) -> dict[Any, str]:
        """The name of each buffer of USMP's, by the statement that allocates it."""
        from tvm.tir.usmp.analysis import extract_buffer_info

        program = self.program
        assert program is not None
        ours = {stmt.buffer_var: name for name, stmt in program.statements.items()}
        # The algorithm is not told the statements, but names in one analysis are unique, and it is repeatable.
        analysis = extract_buffer_info(self.module[MAIN], self.module)
        statements = {info.name_hint: stmt for info, stmt in analysis.buffer_info_stmts.items()}
        return {
            info: ours[statements[info.name_hint].buffer_var]
            for info in infos
            if statements[info.name_hint].buffer_var in ours
        }


class _Naming:
    """Shows every pass to the tracker of layers, after all that changes the module."""

    def __init__(self, tracker: LayerTracker) -> None:
        self.tracker = tracker

    def run_before_pass(self, mod: Any, info: Any) -> None:
        self.tracker.before(str(info.name), mod)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        self.tracker.after(str(info.name), mod)


def _outputs(mod: Any) -> int | None:
    """How many tensors a model returns, None for one whose types do not fit: the build has the better message."""
    import tvm
    from tvm import relay

    module = mod if isinstance(mod, tvm.IRModule) else tvm.IRModule.from_expr(mod)
    try:
        waiting = [relay.transform.InferType()(module)["main"].checked_type.ret_type]
    except tvm.error.TVMError:
        return None
    count = 0
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, tvm.ir.TupleType):
            waiting.extend(kind.fields)
        else:
            count += 1
    return count


def _has_weights(program: Program) -> bool:
    from tvm import tir

    return any(isinstance(stmt, tir.AllocateConst) for stmt in program.statements.values())


def _add_a_constant(mod: Any) -> None:
    """Wrap main in one constant byte, so that the C++ runtime's count of arguments comes out right."""
    import numpy as np
    import tvm

    main = mod[MAIN]
    byte = tvm.tir.Var("no_weights", tvm.ir.PointerType(tvm.ir.PrimType("uint8"), "global"))
    # Annotations have to be there, if empty: TVM reads them without looking.
    body = tvm.tir.AllocateConst(byte, "uint8", [1], tvm.nd.array(np.zeros(1, "uint8")), main.body, {})
    mod.update_func(mod.get_global_var(MAIN), main.with_body(body))
