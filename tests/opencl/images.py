"""Run what TVM 0.19 builds for OpenCL on whatever OpenCL device there is, textures as images.

TVM's own OpenCL runtime is not in the wheel, so the host side is played here: the host functions are taken as they
are right after SplitHostDevice, and every statement of them is carried out with pyopencl. Whatever a host function
allocates is filled with NaN first. A device comes from `device()`, which skips the test where there is none.
"""

import functools
from math import prod

import numpy as np
import pytest
import tvm
from tvm import tir

CHANNELS = 4


@functools.lru_cache
def device():
    """A context and queue on a device with images; skips the test without one."""
    cl = pytest.importorskip("pyopencl", reason="needs pyopencl: pip install pyopencl")
    try:
        found = [d for platform in cl.get_platforms() for d in platform.get_devices() if d.image_support]
    except cl.Error:
        found = []
    if not found:
        pytest.skip("needs an OpenCL device with images: apt-get install pocl-opencl-icd")
    context = cl.Context(found[:1])
    return cl, context, cl.CommandQueue(context)


def image(width, height, dtype="float32"):
    """An image of NaN."""
    cl, context, _ = device()
    kind = {"float32": cl.channel_type.FLOAT, "float16": cl.channel_type.HALF_FLOAT}[dtype]
    made = cl.create_image(
        context, cl.mem_flags.READ_WRITE, cl.ImageFormat(cl.channel_order.RGBA, kind), shape=(width, height)
    )
    fill_image(made, np.full((height, width, CHANNELS), np.nan, dtype))
    return made


def fill_image(target, texels):
    """Write `texels` of shape (height, width, 4) into the corner of an image."""
    cl, _, queue = device()
    height, width, _ = texels.shape
    cl.enqueue_copy(queue, target, np.ascontiguousarray(texels), origin=(0, 0), region=(width, height))


def read_image(source, width, height, dtype="float32"):
    """The corner of an image, of shape (height, width, 4)."""
    cl, _, queue = device()
    texels = np.empty((height, width, CHANNELS), dtype)
    cl.enqueue_copy(queue, texels, source, origin=(0, 0), region=(width, height))
    return texels


def memory(array_or_bytes):
    """A buffer with the contents of an array, or of so many bytes of NaN."""
    cl, context, _ = device()
    host = array_or_bytes
    if isinstance(host, int):
        host = np.full(-(-host // 4), np.nan, "float32")
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(context, flags, hostbuf=np.ascontiguousarray(host))


def read_memory(source, like):
    """The contents of a buffer, as an array like `like`."""
    cl, _, queue = device()
    host = np.empty_like(like)
    cl.enqueue_copy(queue, host, source)
    return host


@tvm.instrument.pass_instrument
class _AfterSplit:
    """Keeps every module as SplitHostDevice leaves it."""

    def __init__(self):
        self.functions = {}

    def run_after_pass(self, module, info):
        if info.name == "tir.SplitHostDevice":
            self.functions.update((str(var.name_hint), function) for var, function in module.functions.items())


class Program:
    """What was built: OpenCL source, and the host functions that launch its kernels.

    `images` lists width and height of all textures that host functions allocated so far, `launches` the kernels.
    """

    def __init__(self, source, functions):
        cl, context, self.queue = device()
        self.functions = functions
        self.source = source
        self.program = cl.Program(context, source).build()
        self.images = []
        self.launches = []

    def run(self, name, arguments):
        """Call a host function with one buffer or image per parameter."""
        function = self.functions[name]
        values = {function.buffer_map[p].data: a for p, a in zip(function.params, arguments)}
        self._run(function.body, values)
        self.queue.finish()

    def _run(self, stmt, values):
        if isinstance(stmt, tir.SeqStmt):
            for part in stmt.seq:
                self._run(part, values)
        elif isinstance(stmt, tir.LetStmt):
            self._run(stmt.body, {**values, stmt.var: self._texture(stmt)})
        elif isinstance(stmt, tir.Allocate):
            kind = tvm.DataType(stmt.dtype)
            size = prod(int(extent) for extent in stmt.extents) * kind.bits * kind.lanes // 8
            self._run(stmt.body, {**values, stmt.buffer_var: memory(size)})
        elif isinstance(stmt, (tir.AttrStmt, tir.DeclBuffer)):
            self._run(stmt.body, values)
        elif isinstance(stmt, tir.For):
            assert stmt.kind == tir.ForKind.SERIAL
            for k in range(int(stmt.min), int(stmt.min) + int(stmt.extent)):
                self._run(stmt.body, {**values, stmt.loop_var: k})
        elif isinstance(stmt, tir.Evaluate) and isinstance(stmt.value, tir.Call):
            self._launch(stmt.value, values)
        else:
            assert isinstance(stmt, tir.Evaluate), f"the host side does not know {type(stmt).__name__}"

    def _texture(self, let):
        assert let.value.op.name == "tir.nd_mem_alloc_with_scope", let.value
        width, height = (int(extent) for extent in let.value.args[2].args)
        self.images.append((width, height))
        return image(width, height, str(let.var.type_annotation.element_type.dtype))

    def _launch(self, call, values):
        cl = device()[0]
        name = str(call.op.name_hint)
        arguments = [values[argument] for argument in call.args]
        extents = {}

        def visit(node):
            if isinstance(node, tir.AttrStmt) and node.attr_key == "thread_extent":
                extents[str(node.node.thread_tag)] = int(node.value)

        tir.stmt_functor.post_order_visit(self.functions[name].body, visit)
        local = [extents.get(f"threadIdx.{axis}", 1) for axis in "xyz"]
        whole = [extents.get(f"blockIdx.{axis}", 1) * size for axis, size in zip("xyz", local)]
        kernel = cl.Kernel(self.program, name)
        kernel.set_args(*arguments)
        cl.enqueue_nd_range_kernel(self.queue, kernel, whole, local)
        self.launches.append(name)


def watched(build, config=None, opt_level=2):
    """Call `build()` in a PassContext that watches it; returns its result and the functions after SplitHostDevice."""
    seen = _AfterSplit()
    with tvm.transform.PassContext(opt_level=opt_level, config=config or {}, instruments=[seen]):
        built = build()
    return built, seen.functions


def adreno():
    """The target that makes TVM use textures."""
    return tvm.target.Target("opencl -device=adreno", host="llvm")


def build(operator, passes=()):
    """Build a PrimFunc or a (schedule, arguments) pair with `passes` in phase 1."""
    target = adreno()

    def make():
        with target:
            if isinstance(operator, tuple):
                return tvm.build(operator[0], operator[1], target=target, name="entry")
            return tvm.build(operator.with_attr("global_symbol", "entry"), target=target, name="entry")

    library, functions = watched(make, {"tir.add_lower_pass": [(1, p) for p in passes]})
    return Program(library.imported_modules[0].get_source(), functions)


def outputs(program, arguments, results=1, name="entry"):
    """Run on arrays; the last `results` of them are outputs, which are returned."""
    buffers = [memory(a) for a in arguments]
    program.run(name, buffers)
    return [read_memory(b, a) for b, a in list(zip(buffers, arguments))[-results:]]
