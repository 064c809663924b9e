"""CUDA source of planned kernels; compiled where there is a compiler, run nowhere here (see scripts/check_gpu.py)."""

import re
import shutil
import subprocess

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx, which writes CUDA source")

from dataclasses import replace

from tests.opencl.building import planned
from tests.opencl.kernels import KERNELS

TARGET = {"kind": "cuda", "arch": "sm_80"}


@pytest.mark.parametrize("scope", ["shared", "shared.dyn"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_cuda_source_has_one_shared_array_and_compiles(kernel, scope, tmp_path):
    source, arenas = planned(replace(kernel, scope=scope).function, target=TARGET)
    declared = re.findall(r"__shared__[^;\[]*\[(\d*)\];", source)
    assert declared == [""] if scope == "shared.dyn" else len(declared) == 1
    assert list(arenas) == [f"launch.{scope}"]
    compiler = shutil.which("nvcc")
    if compiler is None:
        pytest.skip("needs nvcc")
    file = tmp_path / "kernel.cu"
    file.write_text(source)
    command = [compiler, "-cubin", "-arch=sm_80", "-o", str(tmp_path / "kernel.cubin"), str(file)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_dynamic_memory_of_unknown_size_is_named_and_asked_a_bound_for():
    """Case 23 of `tests.cases`."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def unknown(a: T.handle, o: T.handle, n: T.int32):
        A = T.match_buffer(a, (128,), "float32")
        O = T.match_buffer(o, (128,), "float32")
        for tx in T.thread_binding(128, "threadIdx.x"):
            one = T.alloc_buffer((n,), "float32", scope="shared.dyn")
            two = T.alloc_buffer((n * 2,), "float32", scope="shared.dyn")
            one[tx] = A[tx]
            two[tx] = one[127 - tx]
            O[tx] = two[127 - tx]

    with pytest.raises(Exception, match=r"'one' is not a constant: give it a bound"):
        planned(unknown, target=TARGET)
