"""How a run on this machine is watched: patterns, a process of its own, and what its allocators hand out.

::

    paint.py      a pattern into memory, and which bytes of it are still there
    watch.c       a library that stands before TVM's run time and the C library, and notes what is asked for
    watch.py      compiles it, and reads what it noted
    symbols.py    which function an address is in
    process.py    runs the measurement in a process of its own, which a model may well crash

It knows nothing of TVM; `tvm_memplan.relay.measure` and `tvm_memplan.relax.measure` run the models.
"""
