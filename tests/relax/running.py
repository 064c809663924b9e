"""Build Relax modules with TVM's plan and with ours, run both, and compare everything that kernels compute.

Outputs alone miss many overlaps, so a *spy* is called behind every kernel before planning: it notes what was written.
Storages are filled with a poison byte at the start of each function, so that stale zeros hide nothing.
"""

import numpy as np
import tvm
from tvm import ir, relax, tirx

from tvm_memplan.relax import PlanBlockMemory

POISON = 0xCD
_seen: list[bytes] = []


@tvm.register_global_func("tvm_memplan.tests.spy_tensor", override=True)
def _spy(tensor):
    _seen.append(tensor.numpy().tobytes())


@tvm.register_global_func("tvm_memplan.tests.poison_tensor", override=True)
def _poison(tensor):
    tensor.copyfrom(np.full(tensor.shape, POISON, "uint8"))


def lowered(module, before=()):
    """The module as it is when a planner meets it."""
    passes = [
        *before,
        relax.backend.DispatchSampling(),
        relax.backend.DispatchSortScan(),
        relax.transform.LegalizeOps(),
        relax.transform.RewriteDataflowReshape(),
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
    ]
    with tvm.target.Target("llvm"):
        return tvm.transform.Sequential(passes)(module)


FUSION = (
    relax.transform.LegalizeOps(),
    relax.transform.AnnotateTIROpPattern(),
    relax.transform.FuseOps(),
    relax.transform.FuseTIR(),
)


def _bindings(module, change):
    """The module with each binding replaced by those that `change(binding, module)` returns."""

    def sequence(seq):
        blocks = [type(block)([made for binding in block.bindings for made in one(binding)]) for block in seq.blocks]
        return relax.SeqExpr(blocks, seq.body)

    def one(binding):
        if isinstance(binding.value, relax.If):
            inner = relax.If(
                binding.value.cond, sequence(binding.value.true_branch), sequence(binding.value.false_branch)
            )
            return [relax.VarBinding(binding.var, inner)]
        return change(binding, module)

    result = module.clone()
    for name, f in module.functions.items():
        if isinstance(f, relax.Function):
            made = relax.Function(f.params, sequence(f.body), f.ret_ty, f.is_pure, f.attrs)
            result.update_func(result.get_global_var(name.name_hint), made)
    return relax.transform.Normalize()(result)


def _packed(name, *arguments):
    value = relax.BlockBuilder().normalize(ir.Call(relax.ExternFunc(name), list(arguments), ty_args=[ir.TupleType([])]))
    return relax.VarBinding(ir.Var("_", value.ty), value)


def _spies(binding, module):
    value = binding.value
    callee = (
        module.functions.get(value.op) if isinstance(value, ir.Call) and isinstance(value.op, ir.GlobalVar) else None
    )
    if not isinstance(callee, tirx.PrimFunc):
        return [binding]
    tensors = [arg for arg in value.args if isinstance(arg.ty, relax.TensorType)]
    return [binding, _packed("tvm_memplan.tests.spy_tensor", tensors[-1])]


def _poisons(binding, module):
    value = binding.value
    if not (isinstance(value, ir.Call) and getattr(value.op, "name", "") == "relax.memory.alloc_storage"):
        return [binding]
    whole = relax.op.memory.alloc_tensor(binding.var, 0, value.args[0], "uint8", value.args[1])
    whole = relax.BlockBuilder().normalize(whole)
    tensor = ir.Var("whole", whole.ty)
    return [binding, relax.VarBinding(tensor, whole), _packed("tvm_memplan.tests.poison_tensor", tensor)]


def finished(module, plan, spy=True, poison=False, tir_pipeline="default"):
    """Build a module that is lowered, with a planning pass."""
    if spy:
        module = _bindings(module, _spies)
    with tvm.target.Target("llvm"):
        module = plan(module)
        if poison:
            module = _bindings(module, _poisons)
        rest = [
            relax.transform.LowerAllocTensor(),
            relax.transform.KillAfterLastUse(),
            relax.transform.LowerRuntimeBuiltin(),
            relax.transform.ComputePrimValue(),
            relax.transform.VMShapeLower(),
            relax.transform.AttachGlobalSymbol(),
        ]
        module = tvm.transform.Sequential(rest)(module)
    return relax.build(module, "llvm", relax_pipeline=None, tir_pipeline=tir_pipeline)


def run(executable, values, function="main"):
    """What a function returns, as arrays, and what its kernels wrote."""
    _seen.clear()
    result = relax.VirtualMachine(executable, tvm.cpu())[function](*(_in(value) for value in values))
    return _out(result), list(_seen)


def _in(value):
    return tvm.runtime.tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _out(result):
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in _out(part)]


def same_bits(module, inputs, plan=None, function="main", before=(), spy=True):
    """Whether both builds agree in every bit of what they return and of what their kernels write."""
    module = lowered(module, before)
    # Nothing shares anything here. TVM's own plan crashes on some programs with an `if`.
    theirs = finished(module, lambda module: module, spy)
    ours = finished(module, plan or PlanBlockMemory(), spy, poison=True)
    for values in inputs:
        (a, kernels), (b, poisoned) = run(theirs, values, function), run(ours, values, function)
        assert kernels or not spy, "the spy saw nothing"
        if [x.tobytes() for x in a] != [x.tobytes() for x in b] or kernels != poisoned:
            return False
    return True


def sharing(plan):
    """The kernels of which arguments share bytes at some call."""
    return {one.call.function for one in plan.sharing}


def plans(module, before=(), **options):
    """The plan of each function of a module, by name."""
    found = []
    with tvm.target.Target("llvm"):
        PlanBlockMemory(look=found.append, **options)(lowered(module, before))
    return found[0].functions
