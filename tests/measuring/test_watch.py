"""The watch on allocators, on a library that plays TVM's run time: who asked for how much, and how much at once."""

import subprocess
import sys

import pytest

from tvm_memplan.errors import RunFailed
from tvm_memplan.measuring import watch
from tvm_memplan.measuring.process import run_apart
from tvm_memplan.measuring.requests import workspace_requests
from tvm_memplan.measuring.symbols import Symbols
from tvm_memplan.measuring.watch import BLOCK, BLOCK_FREED, Event, alive, most_at_once

pytestmark = pytest.mark.skipif(bool(watch.why_not()), reason=watch.why_not() or "can be watched")

RUN_TIME = """
#include <stdint.h>
#include <stdlib.h>
void *TVMBackendAllocWorkspace(int t, int id, uint64_t size, int c, int b)
{ void *p = 0; return posix_memalign(&p, 64, (size + 4095) / 4096 * 4096) ? 0 : p; }
int TVMBackendFreeWorkspace(int t, int id, void *p) { free(p); return 0; }
void *make(uint64_t size) { void *p = 0; return posix_memalign(&p, 64, size) ? 0 : p; }
void drop(void *p) { free(p); }
"""

KERNELS = """
#include <stdint.h>
void *TVMBackendAllocWorkspace(int, int, uint64_t, int, int);
int TVMBackendFreeWorkspace(int, int, void *);
static __attribute__((noinline)) void conv2d_compute_(int size)
{
  void *a = TVMBackendAllocWorkspace(1, 0, size, 0, 8), *b = TVMBackendAllocWorkspace(1, 0, 100, 0, 8);
  TVMBackendFreeWorkspace(1, 0, b);
  TVMBackendFreeWorkspace(1, 0, a);
}
void tvmgen_default_conv2d(void) { conv2d_compute_(1000); conv2d_compute_(500); }
"""

MODULE = """
import ctypes, json, pathlib, sys
from dataclasses import astuple
from tvm_memplan.measuring.watch import Watch
folder = pathlib.Path(sys.argv[1])
run_time = ctypes.CDLL(str(folder / "libtvm_played.so"), mode=ctypes.RTLD_GLOBAL)
run_time.make.restype = ctypes.c_void_p
kernels = ctypes.CDLL(str(folder / "kernels.so"))
watch = Watch.here()
run_time.make(ctypes.c_uint64(64))
with watch.on():
    one, two = run_time.make(ctypes.c_uint64(10000)), run_time.make(ctypes.c_uint64(20000))
    run_time.drop(ctypes.c_void_p(one))
    watch.mark(7)
    run_time.make(ctypes.c_uint64(5000))
    kernels.tvmgen_default_conv2d()
(folder / "result.json").write_text(json.dumps([[astuple(e) for e in watch.events()], watch.lost]))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, source, more in (("libtvm_played", RUN_TIME, ()), ("kernels", KERNELS, ("-L.", "-l:libtvm_played.so"))):
        (tmp_path / f"{name}.c").write_text(source)
        command = [watch.compiler(), "-O1", "-w", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c", *more]
        subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "played_run.py").write_text(MODULE)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_what_the_run_time_and_kernels_ask_for_is_noted_with_who_asked(folder):
    rows, lost = run_apart("played_run", folder, watched=True)
    events = [Event(*row) for row in rows]
    assert not lost
    blocks = [e for e in events if not e.inside]
    assert [e.size for e in blocks if e.kind == BLOCK] == [10000, 20000, 5000]
    assert most_at_once(blocks, BLOCK, BLOCK_FREED) == 30000 and alive(blocks, BLOCK, BLOCK_FREED) == 25000
    assert [e.size for e in events if e.kind == watch.MARK] == [7]
    pages = [e for e in events if e.inside or e.kind == BLOCK_FREED]
    assert most_at_once(pages, BLOCK, BLOCK_FREED) == 8192, "what serves a workspace is told apart"
    (request,), most = workspace_requests(events, Symbols(folder / "kernels.so", "default_"))
    assert (request.function, request.size, request.count, request.at_once) == ("conv2d", 1000, 4, 1100)
    assert most == 1100


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("raise ValueError('an input is wrong')", "an input is wrong"),
        ("", "it printed nothing"),
    ],
)
def test_a_run_that_crashes_is_an_error_that_says_how(tmp_path, monkeypatch, code, words):
    (tmp_path / "crashing_run.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RunFailed, match=words):
        run_apart("crashing_run", tmp_path, watched=False)


def test_without_a_compiler_or_off_linux_it_says_why(monkeypatch):
    monkeypatch.setattr(watch.shutil, "which", lambda name: None)
    assert "no C compiler" in watch.why_not()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "for Linux" in watch.why_not()
