"""Which function of a library an address is in, by its table of symbols (``nm``); kernels by TVM's names for them."""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from pathlib import Path

#: What TVM puts around a kernel's name.
_AROUND = re.compile(r"^(?:__tvm_ffi_|tvmgen_)?(.*?)(?:_compute_)?(?:\.\d+)?$")


class Symbols:
    """The functions of a library; knows none where there is no `nm`."""

    def __init__(self, library: Path, prefix: str = "") -> None:
        self._prefix = prefix
        self._starts: list[int] = []
        self._names: list[str] = []
        nm = shutil.which("nm")
        if nm is None:
            return
        done = subprocess.run([nm, "-n", "--defined-only", str(library)], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tTwW":
                self._starts.append(int(words[0], 16))
                self._names.append(words[2])

    def kernel(self, address: int) -> str:
        """Return the kernel that has code at `address` (bytes from the start of the library); empty if not known."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return ""
        found = _AROUND.match(self._names[at])
        name = found.group(1) if found else ""
        return "" if "__tvm_parallel_lambda" in name else name.removeprefix(self._prefix)
