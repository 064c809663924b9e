"""Cortex-M boards in QEMU: an exported folder is built with a main function of the tests and run on noise.

The program prints lines, over semihosting on a board and with `puts` on this machine:

    trace FUNCTION HASH     after each operator: FNV-1a of every tensor it made
    out TENSOR HEX          every output, after each run
    high ARENA BYTES        the highest byte of an arena that differs from what it was filled with, over all runs
    guard ARENA ok          the bytes behind the arena are as they were
    stack BYTES             how much of the stack was used
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field

import numpy as np

from tvm_memplan.export import files_of, write_folder
from tvm_memplan.export.header import accessor, tensor_macro
from tvm_memplan.planning.model import Kind

QEMU = "qemu-system-arm"
#: QEMU's machine for a core.
MACHINES = {"cortex-m3": "mps2-an385", "cortex-m4": "mps2-an386", "cortex-m4f": "mps2-an386", "cortex-m7": "mps2-an500"}

GUARD_BYTES = 64

_PRELUDE = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
static char line[1 << 12];
static size_t at;
static void flush_line(void);
static void text(const char *s) { while (*s) line[at++] = *s++; }
static void hex8(unsigned v) { line[at++] = "0123456789abcdef"[v >> 4 & 15]; line[at++] = "0123456789abcdef"[v & 15]; }
static void number(uint32_t v)
{
  char digits[12]; int n = 0;
  do { digits[n++] = (char)('0' + v % 10); v /= 10; } while (v);
  while (n) line[at++] = digits[--n];
}
void trace(const char *function, const void *data, uint32_t size)
{
  const uint8_t *p = data; uint32_t h = 2166136261u;
  for (uint32_t i = 0; i < size; ++i) h = (h ^ p[i]) * 16777619u;
  text("trace "); text(function); text(" "); number(h); flush_line();
}
static void print_bytes(const char *name, const void *data, uint32_t size)
{
  const uint8_t *p = data;
  for (uint32_t i = 0; i < size; ) {
    text("out "); text(name); text(" ");
    for (uint32_t k = 0; k < 1024 && i < size; ++k) hex8(p[i++]);
    flush_line();
  }
}
"""

_BOARD = """
static int semihost(int op, const void *arg)
{
  register int r0 __asm("r0") = op; register const void *r1 __asm("r1") = arg;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
static void flush_line(void) { line[at++] = 10; line[at] = 0; at = 0; semihost(4, line); }
static void leave(int code) { int args[2] = {0x20026, code}; semihost(0x20, args); for (;;) {} }
"""

_LIBRARY = """
#include <stdio.h>
#include <stdlib.h>
static void flush_line(void) { line[at] = 0; at = 0; puts(line); }
static void leave(int code) { exit(code); }
"""

_HOST = f"""{_LIBRARY}
void *TVMBackendAllocWorkspace(int t, int id, uint64_t size, int c, int b)
{{
  return memset(malloc(size + 1), 0x5a, size + 1);
}}
int TVMBackendFreeWorkspace(int t, int id, void *p) {{ free(p); return 0; }}
"""


@dataclass
class Run:
    """What a program printed."""

    outputs: list = field(default_factory=list)  # of each output in turn, one after the other, the bytes
    traces: list = field(default_factory=list)  # (function, hash)
    high: dict = field(default_factory=dict)
    stack: int = 0
    guards: list = field(default_factory=list)


def parsed(stdout):
    run, last = Run(), None
    for row in stdout.splitlines():
        kind, *words = row.split()
        if kind == "out":
            if last != words[0]:
                run.outputs.append("")
            run.outputs[-1] += words[1]
        elif kind == "trace":
            run.traces.append((words[0], int(words[1])))
        elif kind == "high":
            run.high[words[0]] = int(words[1])
        elif kind == "stack":
            run.stack = int(words[0])
        elif kind == "guard":
            run.guards.append(words[1])
        last = words[0] if kind == "out" else None
    return run


def initialiser(array):
    return "{" + ",".join(str(b) for b in np.ascontiguousarray(array).tobytes()) + "}"


def inputs_c(batches):
    """Every batch as constant bytes: ``batch_N_INPUT``."""
    return "\n".join(
        f"static const uint8_t batch_{i}_{k}[] __attribute__((aligned(16))) = {initialiser(value)};"
        for i, batch in enumerate(batches)
        for k, value in enumerate(batch)
    )


def board_main(model, batches, guards, example=True):
    """The main function for an exported model; `batches` are lists of arrays in the order of its inputs.

    It goes with the folder's own start-up code and linker script, or else (`example` false) with a C library's.
    """
    name = model.name
    inputs = [t for t in model.tensors if t.kind is Kind.INPUT]
    outputs = [t for t in model.tensors if t.kind is Kind.OUTPUT]
    body = [f'#include "{name}.h"', _PRELUDE, _BOARD if example else _LIBRARY, inputs_c(batches)]
    body += [f"static {t.c_type} my_{t.identifier}[{t.elements}] __attribute__((aligned(16)));" for t in model.supplied]
    for arena in model.arenas:
        array, size = f"{name}_arena_{arena.identifier}", arena.size + (GUARD_BYTES if guards else 0)
        body.append(f"static uint32_t high_{arena.identifier};")
        body.append(f"static void fill_{arena.identifier}(int v) {{ memset((void *){array}, v, {size}u); }}")
        body.append(
            f"static void look_{arena.identifier}(int v) {{ for (uint32_t i = 0; i < {size}u; ++i) "
            f"if (((volatile uint8_t *){array})[i] != v && i + 1 > high_{arena.identifier}) "
            f"high_{arena.identifier} = i + 1; }}"
        )
    body.append("extern uint8_t example_stack_top[]; extern char example_stack_bytes;")
    body.append("int main(void) {")
    if example:
        body.append("uint32_t bytes = (uint32_t)(uintptr_t)&example_stack_bytes;")
        body.append("volatile uint8_t *low = example_stack_top - bytes;")
        body.append("volatile uint8_t *here = (volatile uint8_t *)__builtin_frame_address(0);")
        body.append("for (volatile uint8_t *p = low; p < here - 64; ++p) *p = 0xa7;")
    if model.weights_in_ram:
        body.append(f"{name}_load_weights();")
    for i, batch in enumerate(batches):
        pattern = (0xA5, 0x5A)[i % 2]
        body += [f"fill_{arena.identifier}({pattern});" for arena in model.arenas]
        for k, tensor in enumerate(inputs):
            where = f"{accessor(model, tensor)}()" if tensor.pool else f"my_{tensor.identifier}"
            body.append(f"memcpy({where}, batch_{i}_{k}, {tensor_macro(model, tensor)}_SIZE_BYTES);")
        arguments = ", ".join(f"my_{t.identifier}" for t in model.supplied)
        body.append(f"if ({name}_run({arguments}) != 0) leave(3);")
        body += [f"look_{arena.identifier}({pattern});" for arena in model.arenas]
        for tensor in outputs:
            where = f"{accessor(model, tensor)}()" if tensor.pool else f"my_{tensor.identifier}"
            body.append(f'print_bytes("{tensor.identifier}", {where}, {tensor_macro(model, tensor)}_SIZE_BYTES);')
        body.append('text("end"); flush_line();')
    if example:
        body.append("while (low < here && *low == 0xa7) ++low;")
        body.append('text("stack "); number((uint32_t)((volatile uint8_t *)example_stack_top - low)); flush_line();')
    for arena in model.arenas:
        body.append(f'text("high {arena.identifier} "); number(high_{arena.identifier}); flush_line();')
    body.append("leave(0); return 0; }")
    return "\n".join(body)


_CALL = re.compile(r"if \((\w+)\(([^()]*)\) != 0 ?\) return -1;")


def _calls(operators):
    """The calls in main: the match, the operator, its arguments."""
    main = operators.rpartition("___tvm_main__(")[2]
    for match in _CALL.finditer(main):
        if "_fused_" in match.group(1):
            yield match, match.group(1), [a.strip() for a in match.group(2).split(",")]


def tensor_sizes(model):
    """Bytes of what operators pass on, by the operator and the position of the argument."""
    sizes = {b.name: b.size for b in model.plan.problem.buffers if b.name.startswith("sid_")}
    return {
        (function.partition("_fused_")[2], i): sizes[argument.removesuffix("_let")]
        for _, function, arguments in _calls(model.operators)
        for i, argument in enumerate(arguments)
        if argument.removesuffix("_let") in sizes
    }


def written_parameters(operators, function):
    """The positions of the parameters that an operator stores to."""
    parameters, body = re.search(rf"\b{function}\(([^)]*)\) \{{(.*?)\n\}}", operators, re.DOTALL).groups()
    names = [part.split()[-1].lstrip("*") for part in parameters.split(",")]
    stored = set(re.findall(r"^\s*\(*(?:\(\w+\*\))?(\w+)\)?\[[^=]*\] = ", body, re.MULTILINE))
    return [i for i, name in enumerate(names) if name in stored]


def traced(operators, sizes):
    """The operators' source with a `trace`, after each call, of every tensor that it made and passes on."""
    head, start, main = operators.rpartition("___tvm_main__(")
    calls = iter(list(_calls(operators)))

    def with_traces(match):
        if "_fused_" not in match.group(1):
            return match.group(0)
        _, function, arguments = next(calls)
        label = function.partition("_fused_")[2]
        rows = [
            f'trace("{label}", {arguments[i]}, {sizes[label, i]}u);'
            for i in written_parameters(operators, function)
            if (label, i) in sizes
        ]
        return " ".join([match.group(0), *rows])

    main = _CALL.sub(with_traces, main)
    return "#include <stdint.h>\nvoid trace(const char *, const void *, uint32_t);\n" + head + start + main


def build(folder, main="main.c", *, stack=16384, check=True, **variables):
    """Run make in an exported folder."""
    settings = {"MAIN": main, "STACK_BYTES": stack, **variables}
    return subprocess.run(
        ["make", "-s", "-C", str(folder), *(f"{key}={value}" for key, value in settings.items())],
        capture_output=True,
        text=True,
        check=check,
    )


def emulate(elf, cpu):
    """Run a program on a board; what it printed, or an AssertionError with its exit code."""
    command = [QEMU, "-M", MACHINES[cpu], "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out"]
    command += ["-kernel", str(elf)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    assert made.returncode == 0, f"exit code {made.returncode}\n{made.stdout[-500:]}\n{made.stderr}"
    return parsed(made.stdout)


def run_on_board(exported, batches, cpu, *, trace=True, guards=True, **variables):
    """Build an exported folder with the main function above, run it, and return what it printed."""
    folder, model = exported.folder, exported.model
    (folder / "test_main.c").write_text(board_main(model, batches, guards))
    if guards:
        # Bytes behind every arena that nobody should touch.
        variables["CFLAGS"] = f"-O2 -g -D{model.name.upper()}_GUARD_BYTES={GUARD_BYTES}"
    if trace:
        (folder / f"{model.name}_operators.c").write_text(traced(model.operators, tensor_sizes(model)))
    made = build(folder, "test_main.c", check=False, **variables)
    assert made.returncode == 0, made.stderr[-3000:]
    return emulate(folder / "build" / "example.elf", cpu)


_HOST_FLAGS = ("-O2", "-w", "-fno-strict-aliasing", "-ffp-contract=off")


def host_compiler():
    return shutil.which("gcc") or shutil.which("cc")


def run_folder_on_host(exported, batches, folder):
    """Run the exported C on this machine, with the same prints."""
    folder.mkdir(parents=True, exist_ok=True)
    model = exported.model
    files = {**files_of(model), "main.c": board_main(model, batches, guards=False, example=False)}
    files[f"{model.name}_operators.c"] = traced(model.operators, tensor_sizes(model))
    write_folder(files, folder)
    sources = [folder / name for name in files if name.endswith(".c")]
    command = [host_compiler(), *_HOST_FLAGS, "-I", folder, "-o", folder / "host", *sources, "-lm"]
    subprocess.run(command, check=True)
    return parsed(subprocess.run([folder / "host"], capture_output=True, text=True, check=True).stdout)


def run_on_host(factory, sizes, batches, folder):
    """Run TVM's unplanned build for C on this machine, with the same prints."""
    folder.mkdir(parents=True, exist_ok=True)
    (source,) = (part.get_source() for part in factory.lib.imported_modules)
    source = re.sub(r'#include "tvm/[^"]+"', '#include "runtime.h"', source)
    source = source.replace('section(".rodata.tvm"), ', "")
    (folder / "runtime.h").write_text(
        "#include <stddef.h>\n#include <stdint.h>\n#define TVM_DLL\n"
        "void *TVMBackendAllocWorkspace(int, int, uint64_t, int, int);\n"
        "int TVMBackendFreeWorkspace(int, int, void *);\n"
    )
    (folder / "operators.c").write_text(traced(source, sizes))
    meta = factory.executor_codegen_metadata
    outputs = [
        (str(name), int(np.prod([int(e) for e in kind.shape])) * np.dtype(str(kind.dtype)).itemsize)
        for name, kind in zip(meta.outputs, meta.output_tensor_types)
    ]
    count = len(list(meta.inputs)) + len(outputs)
    body = [_PRELUDE, _HOST, inputs_c(batches)]
    body.append(f"int32_t tvmgen_default___tvm_main__({', '.join(['void *'] * count)});")
    body += [f"static uint8_t out_{k}[{size}] __attribute__((aligned(16)));" for k, (_, size) in enumerate(outputs)]
    body.append("int main(void) {")
    for i, batch in enumerate(batches):
        arguments = [f"(void *)batch_{i}_{k}" for k in range(len(batch))] + [f"out_{k}" for k in range(len(outputs))]
        body.append(f"if (tvmgen_default___tvm_main__({', '.join(arguments)}) != 0) leave(3);")
        body += [f'print_bytes("out_{k}", out_{k}, {size});' for k, (_, size) in enumerate(outputs)]
        body.append('text("end"); flush_line();')
    body.append("leave(0); return 0; }")
    (folder / "main.c").write_text("\n".join(body))
    program = folder / "host"
    sources = [folder / "operators.c", folder / "main.c"]
    subprocess.run([host_compiler(), *_HOST_FLAGS, "-I", folder, "-o", program, *sources, "-lm"], check=True)
    return parsed(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
