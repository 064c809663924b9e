"""Run TVM's OpenCL source, without TVM's runtime for it."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

cl = pytest.importorskip("pyopencl", reason="needs pyopencl")
try:
    DEVICES = [device for platform in cl.get_platforms() for device in platform.get_devices()]
except cl.Error:
    DEVICES = []
if not DEVICES:
    pytest.skip("needs an OpenCL device, such as pocl's", allow_module_level=True)


@dataclass(frozen=True)
class Ran:
    """What came out: every argument by name, and the bytes of local memory that the device reports."""

    arguments: dict[str, np.ndarray]
    local_bytes: int


def run(source, arguments, block, grid):
    """Run the only kernel of `source` on copies of `arguments`, by name."""
    context = cl.Context(DEVICES[:1])
    queue = cl.CommandQueue(context)
    (kernel,) = cl.Program(context, source).build().all_kernels()
    signature = re.search(r"__kernel\s+void\s+\w+\(([^)]*)\)", source)[1]
    names = [re.search(r"(\w+?)(?:_ptr)?$", parameter.strip())[1] for parameter in signature.split(",")]
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = {name: cl.Buffer(context, flags, hostbuf=arguments[name]) for name in names}
    kernel.set_args(*buffers.values())
    whole = tuple(b * g for b, g in zip(block, (*grid, 1, 1)))
    cl.enqueue_nd_range_kernel(queue, kernel, whole, block)
    results = {name: np.empty_like(arguments[name]) for name in names}
    for name, result in results.items():
        cl.enqueue_copy(queue, result, buffers[name])
    queue.finish()
    size = kernel.get_work_group_info(cl.kernel_work_group_info.LOCAL_MEM_SIZE, DEVICES[0])
    return Ran(results, int(size))
