"""A `MemoryReport` as JSON, and back: every field is there, and every size says its unit.

::

    {"format": "tvm-memplan/memory-report", "version": 2,
     "model": "kws", "target": "c -keys=arm_cpu -mcpu=cortex-m3", "planner": "greedy_by_size",
     "pools": [{"pool": "sram", "capacity_bytes": 262144 or null, "alignment_bytes": 16,
                "naive_bytes": 96000, "planned_bytes": 32000, "bound_bytes": 32000, "bound_kind": "pressure",
                "peak": {"step": 3, "operator": "conv2d", "holders": ["b1", "b0"]} or null}],
     "allocations": [{"name": "b0", "operator": "conv2d", "kind": "activation", "scope": "global",
                      "size_bytes": 16000, "alignment_bytes": 4, "live_ranges_steps": [[0, 4]],
                      "pool": "sram", "offset_bytes": 0,
                       "shape_elements": [1, 32, 32, 4] or null, "dtype": "float32", "in_place_of": "b7" or null,
                       "aliases": [{"name": "flat", "offset_bytes": 0, "size_bytes": 16000}],
                       "slot": "0: 5 x 48 float32x4" (textures only),
                       "layer": "model/conv2d/Relu" (where the model has this tensor),
                       "layers": ["model/conv2d/Relu;model/conv2d/Conv2D"] (where some are known),
                       "source": "model.py:12" (where it is known)}],
     "steps": ["pad", "conv2d"],
     "step_layers": ["model/conv2d/Relu", ""] (where some are known),
     "left_alone": [{"name": "s", "function": "f", "scope": "shared", "size_bytes": 512 or null, "reason": "..."}],
     "notes": ["..."]}

``schema/memory_report.json`` beside this file says the same as a JSON Schema.

Reading is strict: a missing, unknown or wrong field is a `BadInput` that names it, so a file of another version or
one that was cut short is never half read. Reports of version 1 are read, too, so that one that was kept from an older
build can be compared with: they lack the fields of an allocation from ``shape_elements`` on.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from tvm_memplan.errors import BadInput, BadProblem
from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.report.memory import Alias, Allocation, LeftAlone, MemoryReport, Peak, PoolFigures

FORMAT = "tvm-memplan/memory-report"
VERSION = 2
_SHAPELESS = 1

T = TypeVar("T")


def to_json(report: MemoryReport) -> str:
    """Return `report` as JSON text that ends in a newline."""
    return json.dumps(to_fields(report), indent=1) + "\n"


def to_fields(report: MemoryReport) -> dict[str, Any]:
    """Return `report` as plain dicts, lists, strings and integers, in the form given above."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": report.model,
        "target": report.target,
        "planner": report.planner,
        "pools": [
            {
                "pool": figures.pool,
                "capacity_bytes": figures.capacity,
                "alignment_bytes": figures.alignment,
                "naive_bytes": figures.naive,
                "planned_bytes": figures.planned,
                "bound_bytes": figures.bound,
                "bound_kind": figures.bound_kind,
                "peak": figures.peak and _peak_fields(figures.peak),
            }
            for figures in report.pools
        ],
        "allocations": [
            {
                "name": row.name,
                "operator": row.operator,
                "kind": row.kind.value,
                "scope": row.scope,
                "size_bytes": row.size,
                "alignment_bytes": row.alignment,
                "live_ranges_steps": [[live.start, live.stop] for live in row.live_ranges],
                "pool": row.pool,
                "offset_bytes": row.offset,
                "shape_elements": None if row.shape is None else list(row.shape),
                "dtype": row.dtype,
                "in_place_of": row.in_place_of,
                "aliases": [
                    {"name": alias.name, "offset_bytes": alias.offset, "size_bytes": alias.size}
                    for alias in row.aliases
                ],
                **{key: value for key, value in _told(row).items() if value},
            }
            for row in report.allocations
        ],
        "steps": list(report.steps),
        **({"step_layers": list(report.step_layers)} if report.step_layers else {}),
        "left_alone": [
            {
                "name": left.name,
                "function": left.function,
                "scope": left.scope,
                "size_bytes": left.size,
                "reason": left.reason,
            }
            for left in report.left_alone
        ],
        "notes": list(report.notes),
    }


def _told(row: Allocation) -> dict[str, Any]:
    """The fields that are there only when there is something in them."""
    return {"slot": row.slot, "layer": row.layer, "layers": list(row.layers), "source": row.source}


def from_json(text: str) -> MemoryReport:
    """Read what `to_json` wrote.

    Raises
    ------
    BadInput
        If `text` is not JSON, not a memory report of this version, or has a missing, unknown or wrong field.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"memory report: not valid JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadInput(f"memory report: field 'format' must be {FORMAT!r}")
    version = data.get("version")
    if version not in (_SHAPELESS, VERSION) or isinstance(version, bool):
        raise BadInput(f"memory report: field 'version' must be {_SHAPELESS} or {VERSION}, got {version!r}")
    fields = _Fields(data, "")
    fields.take("format")
    fields.take("version")
    report = MemoryReport(
        model=fields.text("model"),
        target=fields.text("target"),
        planner=fields.text("planner"),
        pools=fields.rows("pools", _pool),
        allocations=fields.rows("allocations", _allocation if version == VERSION else _shapeless),
        steps=fields.texts("steps"),
        left_alone=fields.rows("left_alone", _left_alone),
        notes=fields.texts("notes"),
        step_layers=fields.texts("step_layers") if "step_layers" in fields.left else (),
    )
    fields.done()
    if report.step_layers and len(report.step_layers) != len(report.steps):
        raise BadInput("memory report: field 'step_layers' must have an item for each of 'steps'")
    return report


def _peak_fields(peak: Peak) -> dict[str, Any]:
    return {"step": peak.step, "operator": peak.operator, "holders": list(peak.holders)}


class _Fields:
    """A JSON object that is being read: knows its path for messages, and which fields are still unread."""

    def __init__(self, data: Any, path: str) -> None:
        if not isinstance(data, dict):
            raise BadInput(f"memory report: {path or 'the file'} must be an object, got {_name(data)}")
        self.left: dict[str, Any] = dict(data)
        self.path = path

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def take(self, key: str) -> Any:
        if key not in self.left:
            raise BadInput(f"memory report: field {self.at(key)!r} is missing")
        return self.left.pop(key)

    def text(self, key: str) -> str:
        return _text(self.take(key), self.at(key))

    def count(self, key: str) -> int:
        return _count(self.take(key), self.at(key))

    def count_or_null(self, key: str) -> int | None:
        value = self.take(key)
        return None if value is None else _count(value, self.at(key))

    def text_or_null(self, key: str) -> str | None:
        value = self.take(key)
        return None if value is None else _text(value, self.at(key))

    def counts_or_null(self, key: str) -> tuple[int, ...] | None:
        value = self.take(key)
        if value is None:
            return None
        return tuple(_count(n, f"{self.at(key)}[{i}]") for i, n in enumerate(_items(value, self.at(key))))

    def items(self, key: str) -> list[Any]:
        return _items(self.take(key), self.at(key))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(_text(item, f"{self.at(key)}[{i}]") for i, item in enumerate(self.items(key)))

    def rows(self, key: str, read: Callable[[_Fields], T]) -> tuple[T, ...]:
        rows = []
        for i, item in enumerate(self.items(key)):
            fields = _Fields(item, f"{self.at(key)}[{i}]")
            rows.append(read(fields))
            fields.done()
        return tuple(rows)

    def done(self) -> None:
        for key in self.left:
            raise BadInput(f"memory report: field {self.at(key)!r} is unknown")


def _pool(fields: _Fields) -> PoolFigures:
    return PoolFigures(
        pool=fields.text("pool"),
        capacity=fields.count_or_null("capacity_bytes"),
        alignment=fields.count("alignment_bytes"),
        naive=fields.count("naive_bytes"),
        planned=fields.count("planned_bytes"),
        bound=fields.count("bound_bytes"),
        bound_kind=fields.text("bound_kind"),
        peak=_peak(fields.take("peak"), fields.at("peak")),
    )


def _peak(value: Any, path: str) -> Peak | None:
    if value is None:
        return None
    fields = _Fields(value, path)
    peak = Peak(fields.count("step"), fields.text("operator"), fields.texts("holders"))
    fields.done()
    return peak


def _allocation(fields: _Fields) -> Allocation:
    return replace(
        _shapeless(fields),
        shape=fields.counts_or_null("shape_elements"),
        dtype=fields.text("dtype"),
        in_place_of=fields.text_or_null("in_place_of"),
        aliases=fields.rows("aliases", _alias),
        layer=fields.text("layer") if "layer" in fields.left else "",
        layers=fields.texts("layers") if "layers" in fields.left else (),
        source=fields.text("source") if "source" in fields.left else "",
    )


def _alias(fields: _Fields) -> Alias:
    return Alias(fields.text("name"), fields.count("offset_bytes"), fields.count("size_bytes"))


def _shapeless(fields: _Fields) -> Allocation:
    """An allocation as version 1 has it."""
    return Allocation(
        name=fields.text("name"),
        operator=fields.text("operator"),
        kind=_kind(fields.text("kind"), fields.at("kind")),
        scope=fields.text("scope"),
        size=fields.count("size_bytes"),
        alignment=fields.count("alignment_bytes"),
        live_ranges=tuple(
            _live_range(item, f"{fields.at('live_ranges_steps')}[{i}]")
            for i, item in enumerate(fields.items("live_ranges_steps"))
        ),
        pool=fields.text("pool"),
        offset=fields.count("offset_bytes"),
        slot=fields.text("slot") if "slot" in fields.left else "",
    )


def _left_alone(fields: _Fields) -> LeftAlone:
    return LeftAlone(
        name=fields.text("name"),
        function=fields.text("function"),
        scope=fields.text("scope"),
        size=fields.count_or_null("size_bytes"),
        reason=fields.text("reason"),
    )


def _kind(value: str, path: str) -> Kind:
    try:
        return Kind(value)
    except ValueError:
        known = ", ".join(kind.value for kind in Kind)
        raise BadInput(f"memory report: field {path!r} must be one of {known}, got {value!r}") from None


def _live_range(value: Any, path: str) -> LiveRange:
    pair = [_count(item, path) for item in _items(value, path)]
    if len(pair) != 2:
        raise BadInput(f"memory report: field {path!r} must be a pair [start, stop], got {len(pair)} numbers")
    try:
        return LiveRange(*pair)
    except BadProblem as error:
        raise BadInput(f"memory report: field {path!r}: {error}") from error


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"memory report: field {path!r} must be a string, got {_name(value)}")
    return value


def _count(value: Any, path: str) -> int:
    # JSON's true is an int to Python, never to us.
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadInput(f"memory report: field {path!r} must be a whole number, 0 or more, got {_name(value)}")
    return value


def _items(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(f"memory report: field {path!r} must be a list, got {_name(value)}")
    return value


def _name(value: Any) -> str:
    return repr(value) if isinstance(value, (int, float, str, bool)) or value is None else type(value).__name__
