"""Skip where the cross compiler or the emulator is not installed."""

import shutil

import pytest

COMPILER = "arm-none-eabi-gcc"
QEMU = "qemu-system-arm"

needs_compiler = pytest.mark.skipif(
    not (shutil.which(COMPILER) and shutil.which("make")), reason=f"needs {COMPILER} with newlib, and make"
)
needs_board = pytest.mark.skipif(
    not (shutil.which(COMPILER) and shutil.which(QEMU) and shutil.which("make")),
    reason=f"needs {COMPILER} with newlib, make, and {QEMU}",
)
