"""Arenas for several bounds of a dimension: what a model needs for 1, 128 or 2048 tokens, say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm_memplan.relax.plan_model import plan
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.table import WIDTH, table


@dataclass(frozen=True)
class Bucket:
    """The figures of a model for some upper bounds of its dimensions."""

    bounds: Mapping[str, int]
    report: MemoryReport


def buckets(mod: Any, target: Any, bounds: Iterable[Mapping[str, int]], **options: Any) -> tuple[Bucket, ...]:
    """Plan a model for each of several bounds.

    Parameters
    ----------
    mod, target :
        As for `tvm_memplan.relax.plan`.
    bounds : iterable of mapping of str to int
        The upper bounds of each bucket, by variable.
    options :
        What else `tvm_memplan.relax.plan` takes.
    """
    return tuple(Bucket(dict(some), plan(mod, target, bounds=some, **options).report) for some in bounds)


def buckets_text(made: Iterable[Bucket]) -> str:
    """Pools by bucket, as a table."""
    rows = [
        (
            ", ".join(f"{name} <= {most}" for name, most in bucket.bounds.items()),
            pool.pool,
            f"{pool.naive:,}",
            f"{pool.planned:,}",
            f"{pool.bound:,}",
        )
        for bucket in made
        for pool in bucket.report.pools
    ]
    return "\n".join(table(("bucket", "pool", "naive B", "planned B", "bound B"), rows, "LLrrr", WIDTH)) + "\n"
