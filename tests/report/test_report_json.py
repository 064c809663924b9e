import json

import pytest
from hypothesis import given

from tests.report.any_report import REPORTS
from tvm_memplan.errors import BadInput
from tvm_memplan.report.json import from_json, to_fields, to_json


@given(REPORTS)
def test_a_report_reads_back_as_it_was(report):
    assert from_json(to_json(report)) == report


def _paths(value, path=()):
    """Every place in a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _paths(item, (*path, key))


def test_a_field_that_is_missing_unknown_or_wrong_is_named(report):
    good = to_fields(report)
    for path in _paths(good):
        if not path:
            continue
        bad = json.loads(json.dumps(good))
        spot = bad
        for key in path[:-1]:
            spot = spot[key]
        spot[path[-1]] = {"surprise": True}
        with pytest.raises(BadInput) as caught:
            from_json(json.dumps(bad))
        named = [str(key) for key in path if isinstance(key, str)]
        assert named[-1] in str(caught.value)
        if isinstance(path[-1], str):
            del spot[path[-1]]
            with pytest.raises(BadInput, match=path[-1]):
                from_json(json.dumps(bad))
            spot[path[-1]] = None
            spot["extra"] = 1
            with pytest.raises(BadInput):
                from_json(json.dumps(bad))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 3}, "'version' must be 1 or 2, got 3"),
        ({"version": True}, "'version' must be 1 or 2, got True"),
        ({"format": "other"}, "'format' must be"),
        ({"extra": 1}, "'extra' is unknown"),
        ({"steps": ["a", 3]}, r"'steps\[1\]' must be a string, got 3"),
        ({"notes": "none"}, "'notes' must be a list"),
        ({"model": None}, "'model' must be a string, got None"),
    ],
)
def test_a_wrong_value_is_shown_with_its_field(report, change, says):
    with pytest.raises(BadInput, match=says):
        from_json(json.dumps({**to_fields(report), **change}))


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("size_bytes", -1, "0 or more, got -1"),
        ("size_bytes", True, "got True"),
        ("size_bytes", 1.0, "got 1.0"),
        ("kind", "scratch", "must be one of input, output, weights"),
        ("live_ranges_steps", [[2, 2]], r"allocations\[0\].live_ranges_steps\[0\]': live range \[2, 2\) is empty"),
        ("live_ranges_steps", [[2]], "must be a pair"),
    ],
)
def test_a_wrong_allocation_is_named_by_its_place(report, key, value, says):
    fields = to_fields(report)
    fields["allocations"][0][key] = value
    with pytest.raises(BadInput, match=says) as caught:
        from_json(json.dumps(fields))
    assert "allocations[0]" in str(caught.value)


def test_a_file_that_was_cut_short_is_not_half_read(report):
    text = to_json(report)
    for end in range(0, len(text) - 2, 7):
        with pytest.raises(BadInput):
            from_json(text[:end])


def test_sizes_beyond_64_bits_stay_exact(report):
    fields = to_fields(report)
    fields["allocations"][0]["size_bytes"] = 2**70 + 1
    assert from_json(json.dumps(fields)).allocations[0].size == 2**70 + 1


@pytest.mark.parametrize("text", ["[]", "3", "null", "[" * 100_000, '"x"'])
def test_json_that_is_no_report_is_refused(text):
    with pytest.raises(BadInput):
        from_json(text)


def test_every_size_says_its_unit(report):
    keys = {key for path in _paths(to_fields(report)) for key in path if isinstance(key, str)}
    for key in keys:
        for word in ("size", "offset", "capacity", "naive", "planned", "alignment"):
            assert not key.startswith(word) or key.endswith("_bytes")


def test_a_report_of_version_1_is_still_read(report):
    fields = {**to_fields(report), "version": 1}
    for row in fields["allocations"]:
        for key in ("shape_elements", "dtype", "in_place_of", "aliases"):
            del row[key]
    assert from_json(json.dumps(fields)) == report
    fields["allocations"][0]["dtype"] = "int8"
    with pytest.raises(BadInput, match="dtype' is unknown"):
        from_json(json.dumps(fields))
