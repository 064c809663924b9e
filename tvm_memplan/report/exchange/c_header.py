"""A report as a C header: for every buffer its offset and size, for every pool its size, as macros."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tvm_memplan.errors import BadInput
from tvm_memplan.report.exchange.c_text import comment
from tvm_memplan.report.memory import MemoryReport

_OTHER = re.compile(r"[^A-Za-z0-9]+")


def c_header(report: MemoryReport, prefix: str = "MEMPLAN") -> str:
    """Return C source that defines ``PREFIX_POOL_<pool>_SIZE`` and ``PREFIX_<buffer>_OFFSET`` (and ``_SIZE``).

    Parameters
    ----------
    report : MemoryReport
        The plan.
    prefix : str
        What every macro begins with.

    Raises
    ------
    BadInput
        If `prefix` is no C identifier.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII):
        raise BadInput(f"{prefix!r} is no name of a C macro")
    return "\n".join(_lines(report, prefix.upper())) + "\n"


def _lines(report: MemoryReport, prefix: str) -> Iterator[str]:
    yield f"/* Memory plan of {comment(report.model or 'a model')}, by tvm-memplan; sizes and offsets are bytes */"
    yield f"#ifndef {prefix}_H"
    yield f"#define {prefix}_H"
    taken: set[str] = set()
    pools = {}
    for figures in report.pools:
        name = pools[figures.pool] = _macro(f"{prefix}_POOL_{figures.pool}", ("SIZE", "ALIGNMENT"), taken)
        yield ""
        yield f"/* pool {comment(figures.pool)} */"
        yield f"#define {name}_SIZE {_number(figures.planned)}"
        yield f"#define {name}_ALIGNMENT {_number(figures.alignment)}"
    for row in report.allocations:
        name = _macro(f"{prefix}_{row.name}", ("OFFSET", "SIZE"), taken)
        yield ""
        yield f"/* {comment(row.title)}, in pool {comment(row.pool)} */"
        yield f"#define {name}_OFFSET {_number(row.offset)}"
        yield f"#define {name}_SIZE {_number(row.size)}"
    yield ""
    yield f"#endif /* {prefix}_H */"


def _macro(wanted: str, ends: tuple[str, ...], taken: set[str]) -> str:
    """Return a name like `wanted` of which no macro that ends so is taken."""
    base = _OTHER.sub("_", wanted).strip("_").upper()
    number = 1
    while any(f"{name}_{end}" in taken for name in [base if number == 1 else f"{base}_{number}"] for end in ends):
        number += 1
    name = base if number == 1 else f"{base}_{number}"
    taken |= {f"{name}_{end}" for end in ends}
    return name


def _number(value: int) -> str:
    # A plain constant is as wide as it needs to be up to long long; beyond, only ULL helps.
    return str(value) if value < 2**31 else f"{value}ULL"
