"""What GCC has to be told about a core."""

from __future__ import annotations

_FPU = {"cortex-m4f": "fpv4-sp-d16"}
_CORES = ("cortex-m0plus", "cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m23", "cortex-m33", "cortex-m55")


def is_cortex_m(cpu: str) -> bool:
    """Whether the example's start-up code, which is for Cortex-M, serves this core."""
    return cpu.startswith("cortex-m")


def compiler_prefix(cpu: str) -> str:
    """Return what GCC's name starts with; empty is the compiler of this machine."""
    return "arm-none-eabi-" if is_cortex_m(cpu) else ""


def cpu_flags(cpu: str) -> str:
    """Return flags for GCC; a core that is not known here gets none.

    Floating point is done in software unless the core's name promises a unit (``cortex-m4f``), so that an object
    runs on every chip with the core.
    """
    words = cpu.split()
    core = words[0].replace("+", "plus") if words else ""
    plain = core.removesuffix("f")
    if plain not in _CORES:
        return ""
    fpu = f"-mfloat-abi=hard -mfpu={_FPU[core]}" if core in _FPU else "-mfloat-abi=soft"
    return f"-mcpu={plain} -mthumb {fpu}"
