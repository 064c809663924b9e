"""Boards of QEMU's MPS2 machines, with as much memory as a test wants them to have."""

from __future__ import annotations

from tvm_memplan.boards import Board, Region

FLASH = Region("flash", 4 << 20, "flash", address=0)

#: Where QEMU has RAM: 4 MiB of it, and the start of 16 MiB more.
_SRAM, _PSRAM = 0x20000000, 0x21000000


def one_memory(ram, cpu="cortex-m3", flash=FLASH):
    """One region of RAM of so many bytes."""
    return Board("small", "A small board", cpu, (Region("sram", ram, "sram", address=_SRAM), flash))


def four_memories(*sizes, cpu="cortex-m7"):
    """Four regions with holes between them."""
    names = ("dtcm", "sram1", "sram2", "sdram")
    regions = [
        Region(name, size, "sram", address=_SRAM + 0x80000 * i) for i, (name, size) in enumerate(zip(names, sizes))
    ]
    return Board("four", "A board of four memories", cpu, (*regions, FLASH))


def two_memories(dtcm, sram, cpu="cortex-m7"):
    """A fast memory and a slower one, with a hole between them."""
    regions = (
        Region("dtcm", dtcm, "tcm", address=_SRAM),
        Region("sram1", sram, "sram", address=_SRAM + 0x100000),
        Region("sdram", 8 << 20, "external", address=_PSRAM),
        FLASH,
    )
    return Board("two", "A board of two memories", cpu, regions)
