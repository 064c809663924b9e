"""Run what apache-tvm 0.27 builds for OpenCL from one function with several launches.

TVM's own OpenCL runtime is not in the wheel, so the host side is played here: the host function is taken as it is right
after SplitHostDevice, and every statement of it is carried out with pyopencl. Whatever it allocates is filled with NaN
first, and its bytes are counted.
"""

import numpy as np
import tvm
from tvm import tirx

from tests.opencl.building import source_of
from tests.opencl.device import DEVICES, cl
from tests.tirx.running import module_of
from tvm_memplan.dialects.tirx import register_standard_pipeline


@tvm.instrument.pass_instrument
class _AfterSplit:
    """Keeps every module as SplitHostDevice leaves it."""

    def __init__(self):
        self.functions = {}

    def run_after_pass(self, module, info):
        if info.name == "tirx.SplitHostDevice":
            self.functions.update((var.name_hint, function) for var, function in module.functions.items())


class Program:
    """The kernels and the host function of a build; `allocated` are the bytes of each allocation in the last run."""

    def __init__(self, function, passes):
        register_standard_pipeline("tests.hosts", passes)
        seen = _AfterSplit()
        # TVM's StorageRewrite, which runs behind passes of ours only, is wrong on some of the programs.
        with tvm.transform.PassContext(instruments=[seen], config={"tirx.disable_storage_rewrite": not passes}):
            target = tvm.target.Target("opencl", host="llvm")
            built = tvm.compile(module_of(function), target, tir_pipeline="tests.hosts")
        self.functions = seen.functions
        self.context = cl.Context(DEVICES[:1])
        self.queue = cl.CommandQueue(self.context)
        self.program = cl.Program(self.context, source_of(built)).build()

    def run(self, arguments):
        """Call the host function on copies of arrays, and return them."""
        self.allocated = []
        function = self.functions["entry"]
        memory = [self._memory(np.ascontiguousarray(a)) for a in arguments]
        self._run(function.body, dict(zip(function.params, memory)))
        results = [np.empty_like(a) for a in arguments]
        for result, source in zip(results, memory):
            cl.enqueue_copy(self.queue, result, source)
        self.queue.finish()
        return results

    def _memory(self, host):
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.context, flags, hostbuf=host)

    def _run(self, stmt, values):
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self._run(part, values)
        elif isinstance(stmt, tirx.AllocBuffer):
            size = int(stmt.buffer.shape[0]) * stmt.buffer.dtype.itemsize
            self.allocated.append(size)
            values[stmt.buffer] = self._memory(np.full(-(-size // 4), np.nan, "float32"))
        elif isinstance(stmt, tirx.DeclBuffer):
            values[stmt.buffer] = values[stmt.data.args[0]]
        elif isinstance(stmt, tirx.AttrStmt):
            self._run(stmt.body, values)
        elif isinstance(stmt, tirx.For):
            for _ in range(int(stmt.extent)):
                self._run(stmt.body, values)
        elif isinstance(stmt.value, tvm.ir.Call):
            self._launch(stmt.value, values)

    def _launch(self, call, values):
        name, *arguments = call.args
        tags = [str(tag) for tag in call.attrs["launch_params"]]
        pointers, extents = arguments[: -len(tags)], dict(zip(tags, map(int, arguments[-len(tags) :])))
        local = extents.get("threadIdx.x", 1)
        kernel = cl.Kernel(self.program, name.value)
        kernel.set_args(*(values[pointer.args[0]] for pointer in pointers))
        cl.enqueue_nd_range_kernel(self.queue, kernel, (extents.get("blockIdx.x", 1) * local,), (local,))
