"""Run builds: through TVM's runtime, or as plain C with the arena filled with noise first."""

from __future__ import annotations

import ctypes
import itertools
import re
import shutil
import subprocess

import numpy as np
import tvm
from tvm import relay

from tvm_memplan.relay.less_workspace import lowering_passes, recut_instrument

_count = itertools.count()


def unplanned(mod, params, config, our_operators=False):
    """TVM's own build without any planner for whole programs.

    With `our_operators` the operators are those of the configuration, so that every tensor between them can be compared
    with a planned build; without, they are as TVM makes them.
    """
    options, instruments = {"tir.usmp.enable": False}, []
    if not config.vectorize:
        options["tir.disable_vectorize"] = True
    if our_operators and config.less_workspace:
        options["tir.add_lower_pass"] = lowering_passes()
        instruments.append(recut_instrument(config, []))
    with tvm.transform.PassContext(opt_level=3, config=options, instruments=instruments):
        return relay.build(mod, config.target, executor=config.executor(), runtime=config.tvm_runtime(), params=params)


def run(factory, config, folder, *batches):
    """The outputs for each batch of inputs, one after the other on one instance."""
    if config.runtime == "crt":
        program = CProgram(factory, folder)
        return [program(batch) for batch in batches]
    library = folder / f"model{next(_count)}.so"
    if config.target.split()[0] == "c":
        factory.export_library(str(library), cc=c_compiler())
    else:
        factory.export_library(str(library))
    executor = tvm.runtime.executor.AotModule(tvm.runtime.load_module(str(library))["default"](tvm.cpu(0)))
    results = []
    for batch in batches:
        for name, value in batch.items():
            executor.set_input(name, value)
        executor.run()
        results.append([executor.get_output(i).numpy() for i in range(executor.get_num_outputs())])
    return results


def c_compiler():
    return shutil.which("gcc") or shutil.which("cc")


_SUPPORT = """
#include <stdlib.h>
#include <stdint.h>
void* TVMBackendAllocWorkspace(int type, int id, uint64_t size, int code, int bits) { return malloc(size ? size : 1); }
int TVMBackendFreeWorkspace(int type, int id, void* p) { free(p); return 0; }
"""


class CProgram:
    """The C code of a build for microcontrollers, compiled for this machine.

    Every run starts with the arena full of noise, whether it lies in the code or is supplied from here.
    """

    def __init__(self, factory, folder):
        meta = factory.executor_codegen_metadata
        self.inputs = [(var.name, kind) for var, kind in zip(meta.inputs, meta.input_tensor_types)]
        self.outputs = list(zip(map(str, meta.outputs), meta.output_tensor_types))
        pools = meta.pool_inputs.values() if meta.pool_inputs else ()
        self.pools = {
            str(pool.pool_info.pool_name): int(pool.allocated_size) for pool in pools if not pool.pool_info.is_internal
        }
        self.io_in_pool = bool(meta.io_pool_allocations)
        place = folder / f"c{next(_count)}"
        place.mkdir()
        sources = [factory.lib.get_source(), *(m.get_source() for m in factory.lib.imported_modules)]
        arena = re.search(r"static uint8_t global_workspace\[(\d+)\]", "\n".join(sources))
        self.arena_size = int(arena.group(1)) if arena else 0
        (place / "tvmgen_default.h").write_text(self._header())
        files = []
        for number, source in enumerate([*sources, _SUPPORT]):
            if "static uint8_t global_workspace[" in source:
                source += "\nvoid* test_arena(void) { return global_workspace; }\n"
            files.append(place / f"lib{number}.c")
            files[-1].write_text(source)
        library = place / "model.so"
        root = tvm.__path__[0]
        includes = [f"-I{root}/{part}" for part in ("include", "3rdparty/dlpack/include")]
        subprocess.run(
            [c_compiler(), "-O2", "-w", "-shared", "-fPIC", f"-I{place}", *includes, "-o", library, *files, "-lm"],
            check=True,
        )
        self.library = ctypes.CDLL(str(library))

    def _header(self):
        def struct(name, fields):
            return f"struct tvmgen_default_{name} {{ {' '.join(f'void* {field};' for field in fields)} }};\n"

        return (
            "#include <stdint.h>\n"
            + struct("inputs", [name for name, _ in self.inputs])
            + struct("outputs", [name for name, _ in self.outputs])
            + struct("workspace_pools", self.pools)
        )

    def __call__(self, batch):
        arenas = [_noise(size) for size in self.pools.values()]
        if self.arena_size:
            self.library.test_arena.restype = ctypes.c_void_p
            ctypes.memmove(self.library.test_arena(), _noise(self.arena_size).ctypes.data, self.arena_size)
        given = [np.ascontiguousarray(batch[name]) for name, _ in self.inputs]
        made = [np.zeros(tuple(int(e) for e in kind.shape), kind.dtype) for _, kind in self.outputs]
        pools = _pointers(arenas)
        if self.io_in_pool:
            for array, place in zip(given, self._places("map_inputs", given, pools)):
                ctypes.memmove(place, array.ctypes.data, array.nbytes)
            assert self.library.tvmgen_default_run(pools) == 0
            for array, place in zip(made, self._places("map_outputs", made, pools)):
                ctypes.memmove(array.ctypes.data, place, array.nbytes)
        else:
            arguments = [_pointers(given), _pointers(made), *([pools] if self.pools else [])]
            assert self.library.tvmgen_default_run(*arguments) == 0
        return made

    def _places(self, function, arrays, pools):
        """Where TVM says that inputs or outputs lie; it returns a struct of pointers by value."""
        fields = [(f"p{i}", ctypes.c_void_p) for i in range(len(arrays))]
        mapped = getattr(self.library, f"tvmgen_default_{function}")
        mapped.restype = type(function, (ctypes.Structure,), {"_fields_": fields})
        result = mapped(pools)
        return [getattr(result, name) for name, _ in fields]


def _noise(size):
    return np.random.default_rng(next(_count)).integers(0, 256, size).astype("uint8")


def _pointers(arrays):
    return (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))
