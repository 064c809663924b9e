"""Inputs and outputs in the pool: TVM's pass for it, kept from looking too closely.

The pass wraps main in an allocation per input and output. To tell them apart it follows the loads and stores of
every operator, and gives up on an output that is also read (by another operator, or by the reduction that makes it)
and on an input that nobody reads. Both are common and harmless, so the pass is shown a main function that
reads each input once and writes each output once; the real body is put back inside the allocations.
"""

from __future__ import annotations

from typing import Any

from tvm_memplan.dialects.relay.capture import MAIN, capture_program
from tvm_memplan.planning.model import Kind
from tvm_memplan.planning.trace import Alloc


def show_only_io(mod: Any, outputs: int | None = None) -> None:
    """Replace the body of main, in place, by one load of each input and one store to each output."""
    from tvm import tir

    program = capture_program(mod, outputs)
    kinds = {node.buffer: node.kind for node in program.trace.body if isinstance(node, Alloc)}
    main = mod[MAIN]
    touches = []
    for param in main.params:
        buffer = main.buffer_map.get(param)
        if buffer is not None:
            first = [0] * len(buffer.shape)
            if kinds[param.name] is Kind.INPUT:
                touches.append(tir.Evaluate(tir.BufferLoad(buffer, first)))
            else:
                touches.append(tir.BufferStore(buffer, tir.const(0, buffer.dtype), first))
    mod.update_func(mod.get_global_var(MAIN), main.with_body(tir.stmt_seq(*touches)))


def put_back_body(mod: Any, body: Any) -> None:
    """Put the real body of main, in place, into the allocations of inputs and outputs."""
    from tvm import tir

    main = mod[MAIN]
    allocations = []
    stmt = main.body
    while isinstance(stmt, tir.Allocate):
        allocations.append(stmt)
        stmt = stmt.body
    for outer in reversed(allocations):
        body = tir.Allocate(outer.buffer_var, outer.dtype, outer.extents, outer.condition, body, outer.annotations)
    mod.update_func(mod.get_global_var(MAIN), main.with_body(body))


def with_output_names(mod: Any) -> Any:
    """Name several outputs: the names that TVM makes up for them do not agree with each other."""
    import tvm
    from tvm import relay

    named = relay.transform.InferType()(mod.clone())
    main = named["main"]
    kind = main.checked_type.ret_type
    has_names = main.attrs is not None and "output_tensor_names" in main.attrs
    if has_names or not isinstance(kind, tvm.ir.TupleType):
        return mod
    named["main"] = main.with_attr("output_tensor_names", [f"output{i}" for i in range(len(kind.fields))])
    return named
