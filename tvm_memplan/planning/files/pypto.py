"""The structured JSON problems of dsa-solver (tonibohnlein/dsa-solver, schema version 1), as exported by PyPTO.

They are tiles in the on-chip memories of an accelerator, one pool per memory, with what the compiler knows about them::

    {"schema_version": 1, "profile": "pypto_hard_v1", "instance": "...", "metadata": {...}, "problem": {...}}

What each field of ``problem`` becomes:

========================================  =======================================================================
buffers: id, name, size, alignment        a `Buffer` (bytes); called ``name#id`` where a name comes twice
buffers: live_intervals                   live ranges, half-open; PyPTO counts two steps a statement, the reads first
buffers: allowed_pools                    candidate pools
pools: id, name, capacity                 a `Pool` (bytes; no capacity means no limit)
pools: reserved_ranges                    a pinned buffer over all steps for each, called ``reserved NAME@BEGIN``
constraints: colocations                  must share one offset: the largest is the root, the others are views of it
constraints: separations                  `Problem.separate`, whatever their reasons
constraints: temporal_exclusions          pairs that never live on one path: conflicts are then given pair by pair
constraints: pinned_allocations           `Buffer.pinned`; with ``exclusive_for_all_time``, separate from all others
cost_model: reuse_penalties               `Problem.penalties`, whatever their reasons
========================================  =======================================================================

Hard and soft: a ``-hard`` problem lists under ``separations`` what its ``-soft`` twin lists under ``reuse_penalties``.

Not represented: ``objective`` (two lexicographic lists occur: total and largest peak, which is what planners here
minimise pool by pool; and overflow, then reuse cost, in which the cost counts before the size, while here it only
breaks ties, see `tvm_memplan.planning.finishing.penalties`); ``pypto_structure`` (names that were collapsed into a
buffer and pipeline groups: the solver's documentation calls both provenance without effect on what is allowed, as
stages that must lie apart are separations already); ``profile``, ``metadata`` and the reasons of pairs. Any other
constraint or cost (``bank_geometry`` of a pool, for one) is refused, since a plan without it might be wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tvm_memplan.errors import BadProblem
from tvm_memplan.planning.files.fields import Field, parse
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Pool, Problem
from tvm_memplan.planning.preparing.aliases import share

_PROBLEM_FIELDS = ("buffers", "pools", "constraints", "cost_model", "objective", "pypto_structure")
_CONSTRAINTS = ("colocations", "separations", "temporal_exclusions", "pinned_allocations")


def problem_from_pypto(text: str, source: str = "<text>") -> Problem:
    """Read a problem from JSON text; `source` is what messages call it. BadInput says which field is malformed."""
    return pypto_problem(parse(text, source))


def pypto_problem(document: Field) -> Problem:
    """Read a problem from a parsed document."""
    if document["schema_version"].value != 1:
        raise document["schema_version"].error(f"must be 1, got {document['schema_version'].value!r}")
    problem = document["problem"].only(*_PROBLEM_FIELDS)
    try:
        return _Reader(problem).problem()
    except BadProblem as error:
        raise problem.error(str(error)) from error


class _Reader:
    """One document; buffers and pools are found by their ids."""

    def __init__(self, field: Field) -> None:
        self.field = field
        empty = Field({}, field.source, "problem.constraints")
        self.constraints = field["constraints"].only(*_CONSTRAINTS) if field.has("constraints") else empty
        self.pools: dict[int, Pool] = {}
        for pool in field["pools"]:
            pool.only("id", "name", "capacity", "reserved_ranges")
            capacity = pool["capacity"].integer() if pool.has("capacity") else None
            self.pools[self._id(pool, self.pools)] = Pool(pool["name"].text(), capacity)
        names = Counter(buffer["name"].text() for buffer in field["buffers"])
        self.index: dict[int, int] = {}
        self.buffers: list[Buffer] = []
        for buffer in field["buffers"]:
            self.index[self._id(buffer, self.index)] = len(self.buffers)
            self.buffers.append(self._buffer(buffer, names))

    def problem(self) -> Problem:
        separate = {pair for item in self.constraints.items("separations") for pair in self._pair(item, "reasons")}
        separate |= self._pins()
        self._reserve()
        excluded = {pair for item in self.constraints.items("temporal_exclusions") for pair in self._pair(item)}
        count = len(self.buffers)
        every = ((i, j) for i in range(count) for j in range(i + 1, count)) if excluded else ()
        met = {(i, j) for i, j in every if self.buffers[i].alive_with(self.buffers[j])}
        problem = Problem(
            tuple(self.buffers),
            tuple(self.pools.values()),
            frozenset(met - excluded) if excluded else None,
            frozenset(separate),
            penalties=self._penalties(),
        )
        together = [pair for item in self.constraints.items("colocations") for pair in self._pair(item)]
        return share(problem, self._rooted(together)) if together else problem

    def _id(self, item: Field, known: Iterable[int]) -> int:
        found = item["id"].integer()
        if found in known:
            raise item["id"].error(f"{found} comes twice")
        return found

    def _buffer(self, item: Field, names: Counter[str]) -> Buffer:
        item.only("id", "name", "size", "alignment", "live_intervals", "allowed_pools")
        name = item["name"].text()
        spans = []
        for span in item["live_intervals"]:
            lower, upper = span.only("lower", "upper")["lower"].integer(None), span["upper"].integer(None)
            if upper <= lower:
                raise span.error(f"the live range [{lower}, {upper}) is empty")
            spans.append(LiveRange(lower, upper))
        try:
            return Buffer(
                name if names[name] == 1 else f"{name}#{item['id'].value}",
                item["size"].integer(),
                tuple(spans),
                item["alignment"].alignment() if item.has("alignment") else 1,
                pools=tuple(self._pool(pool).name for pool in item["allowed_pools"]),
            )
        except BadProblem as error:
            raise item.error(str(error)) from error

    def _pool(self, item: Field) -> Pool:
        if item.integer() not in self.pools:
            raise item.error(f"there is no pool {item.value}")
        return self.pools[item.value]

    def _at(self, item: Field) -> int:
        if item.integer() not in self.index:
            raise item.error(f"there is no buffer {item.value}")
        return self.index[item.value]

    def _pair(self, item: Field, *more: str) -> list[tuple[int, int]]:
        i, j = self._at(item.only("first", "second", *more)["first"]), self._at(item["second"])
        if i == j:
            raise item.error("must be two different buffers")
        return [(min(i, j), max(i, j))]

    def _penalties(self) -> frozenset[tuple[int, int, int]]:
        if not self.field.has("cost_model"):
            return frozenset()
        costs: Counter[tuple[int, int]] = Counter()
        for item in self.field["cost_model"].only("reuse_penalties").items("reuse_penalties"):
            (pair,) = self._pair(item, "cost", "reason")
            costs[pair] += item["cost"].integer()
        return frozenset((i, j, cost) for (i, j), cost in costs.items() if cost)

    def _pins(self) -> set[tuple[int, int]]:
        """Pin what is pinned; return who must be separate for that."""
        apart = set()
        for item in self.constraints.items("pinned_allocations"):
            item.only("buffer", "pool", "offset", "exclusive_for_all_time")
            i, place = self._at(item["buffer"]), Placement(self._pool(item["pool"]).name, item["offset"].integer())
            self.buffers[i] = replace(self.buffers[i], pinned=place)
            if item.has("exclusive_for_all_time") and item["exclusive_for_all_time"].value:
                apart |= {(min(i, j), max(i, j)) for j in range(len(self.buffers)) if j != i}
        return apart

    def _reserve(self) -> None:
        """Add what is reserved as buffers that are always there."""
        steps = [step for buffer in self.buffers for span in buffer.live_ranges for step in (span.start, span.stop)]
        always = (LiveRange(min(steps, default=0), max(steps, default=1)),)
        for item in self.field["pools"]:
            for span in item.items("reserved_ranges"):
                begin, end = span.only("begin", "end")["begin"].integer(), span["end"].integer()
                if end <= begin:
                    raise span.error(f"the range [{begin}, {end}) is empty")
                pool = item["name"].value
                place, name = Placement(pool, begin), f"reserved {pool}@{begin}"
                self.buffers.append(Buffer(name, end - begin, always, pools=(pool,), pinned=place))

    def _rooted(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
        """Turn pairs that start together into members and their largest."""
        groups: list[set[int]] = []
        for pair in pairs:
            met = [group for group in groups if group & set(pair)]
            groups = [group for group in groups if group not in met] + [set(pair).union(*met)]
        largest = {i: max(group, key=lambda i: (self.buffers[i].size, -i)) for group in groups for i in group}
        return [(i, root, 0) for i, root in sorted(largest.items()) if i != root]
