"""``measure.c``: a program that fills arenas and stack with a pattern, runs the model, and prints what was written.

`tvm_memplan.report.measured.measurement_from_log` reads the lines. On a Cortex-M they leave by semihosting, for an
emulator or a debugger; a board with a serial line defines ``measure_print`` and ``measure_done`` in a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tvm_memplan.export.header import accessor, tensor_macro
from tvm_memplan.export.model import CModel, Tensor
from tvm_memplan.planning.model import Kind

#: QEMU's machine for a board, by the board's name here.
MACHINES = {"mps2_an385": "mps2-an385", "mps3_an547": "mps3-an547"}

_SEMIHOSTING = """
/* Where the lines go. A board with a serial line defines both in a file of its own, and `make measure EXTRA=uart.c`
   takes it: by semihosting, as here, a board stops that has no debugger. */
__attribute__((weak)) void measure_print(const char *text);
__attribute__((weak)) void measure_done(int code);

static int semihosting(int operation, const void *argument)
{
  register int r0 __asm("r0") = operation;
  register const void *r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void measure_print(const char *text)
{
  semihosting(4, text);
  semihosting(4, "\\n");
}

void measure_done(int code)
{
  int arguments[2] = {0x20026, code};
  semihosting(0x20, arguments);
  for (;;) {
  }
}
"""

_LIBRARY = """
#include <stdio.h>
#include <stdlib.h>

static void measure_print(const char *text)
{
  puts(text);
}

static void measure_done(int code)
{
  exit(code);
}
"""


def emulator(board: str) -> str:
    """Return the command that runs a program for a board here, without the program; empty where no machine is known."""
    if board not in MACHINES:
        return ""
    output = "-chardev stdio,id=out -semihosting-config enable=on,target=native,chardev=out"
    return f"qemu-system-arm -M {MACHINES[board]} -nographic -monitor none -serial none {output} -kernel"


def measure_words(model: CModel, on_board: bool) -> dict[str, str]:
    """Return what the template ``measure.c`` is filled with; `on_board` as for `readme`."""
    return {
        "PRINT": _SEMIHOSTING if on_board else _LIBRARY,
        "VARIABLES": _text(_variables(model, on_board)),
        "BEFORE": _text(_before(model, on_board)),
        "RUN": _text(_run(model)),
        "AFTER": _text(_after() if on_board else ()),
    }


def _text(lines: Iterator[str] | tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _variables(model: CModel, on_board: bool) -> Iterator[str]:
    for tensor in model.supplied:
        yield f"static {tensor.c_type} {tensor.identifier}[{tensor_macro(model, tensor)}_ELEMENTS];"
    if on_board:
        yield "extern uint8_t example_stack_top[];"
        yield "extern char example_stack_bytes; /* its address is the number */"


def _before(model: CModel, on_board: bool) -> Iterator[str]:
    for i, arena in enumerate(model.arenas):
        macro = f"{model.name}_ARENA_{arena.identifier}_SIZE_BYTES".upper()
        yield f'  text("memplan: arena {i}");'
        yield f"  number({macro});"
        yield f"  number({model.name.upper()}_GUARD_BYTES);"
        yield f'  text(" {_quoted(arena.pool)}");'
        yield "  end_line();"
    if on_board:
        yield "  uint32_t kept = (uint32_t)(uintptr_t)&example_stack_bytes;"
        yield "  volatile uint8_t *low = example_stack_top - kept;"
        yield "  volatile uint8_t *here = (volatile uint8_t *)__builtin_frame_address(0);"
        yield "  /* What lies below is free, but for what this function may yet push. */"
        yield "  for (volatile uint8_t *p = low; p < here - 128; ++p) {"
        yield "    *p = 0xA7;"
        yield "  }"
    if model.weights_in_ram:
        yield f"  {model.name}_load_weights();"


def _run(model: CModel) -> Iterator[str]:
    upper = model.name.upper()
    yield '      text("memplan: run");'
    yield "      number(runs++);"
    yield "      end_line();"
    for arena in model.arenas:
        array, macro = f"{model.name}_arena_{arena.identifier}", f"{upper}_ARENA_{arena.identifier.upper()}"
        yield f"      fill({array}, {macro}_SIZE_BYTES + {upper}_GUARD_BYTES, flip ? 0xFF : 0);"
    for tensor in model.tensors:
        if tensor.kind is Kind.INPUT:
            yield f"      for (int i = 0; i < {tensor_macro(model, tensor)}_ELEMENTS; ++i) {{"
            yield f"        {_place(model, tensor)}[i] = {_value(tensor)};"
            yield "      }"
    arguments = ", ".join(tensor.identifier for tensor in model.supplied)
    yield f"      if ({model.name}_run({arguments}) != 0) {{"
    yield '        text("the run function reports an error");'
    yield "        end_line();"
    yield "        measure_done(3);"
    yield "      }"
    for i, arena in enumerate(model.arenas):
        array, macro = f"{model.name}_arena_{arena.identifier}", f"{upper}_ARENA_{arena.identifier.upper()}"
        yield f"      look({i}, {array}, {macro}_SIZE_BYTES, {upper}_GUARD_BYTES, flip ? 0xFF : 0);"


def _after() -> Iterator[str]:
    yield "  while (low < here && *low == 0xA7) {"
    yield "    ++low;"
    yield "  }"
    yield '  text("memplan: stack");'
    yield "  number(kept);"
    yield "  number((uint32_t)((volatile uint8_t *)example_stack_top - low));"
    yield "  end_line();"


def _place(model: CModel, tensor: Tensor) -> str:
    return f"{accessor(model, tensor)}()" if tensor.pool else tensor.identifier


def _value(tensor: Tensor) -> str:
    """A number of the kind that the model may expect: wide integers are often indices, and stay small."""
    if tensor.dtype.startswith("float"):
        return f"({tensor.c_type})((int)(next_number() & 0xFFu) - 128) / 64"
    if tensor.dtype in ("int8", "uint8"):
        return f"({tensor.c_type})next_number()"
    return f"({tensor.c_type})(next_number() & 1u)"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
