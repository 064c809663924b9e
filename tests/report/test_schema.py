"""The schema of the report's JSON says what the writer writes and the reader takes, no more and no less."""

import json
from importlib.resources import files

import pytest
from hypothesis import given

from tests.report.any_report import REPORTS
from tests.report.test_report_json import _paths
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Kind
from tvm_memplan.report.json import FORMAT, VERSION, from_json, to_fields

SCHEMA = json.loads((files("tvm_memplan.report") / "schema" / "memory_report.json").read_text(encoding="utf-8"))
KNOWN = {"type", "items", "properties", "required", "additionalProperties", "enum", "const", "minimum", "$ref", "anyOf"}
KNOWN |= {"minItems", "maxItems", "description", "title", "$schema", "$id", "$defs"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}


def valid(value, schema=SCHEMA):
    """Whether a value obeys a schema, for the keywords of JSON Schema that ours uses."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema and not valid(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]):
        return False
    if "anyOf" in schema and not any(valid(value, one) for one in schema["anyOf"]):
        return False
    if "type" in schema:
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if isinstance(value, bool) or not any(isinstance(value, TYPES[one]) for one in types):
            return False
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        return False
    if isinstance(value, int) and value < schema.get("minimum", value):
        return False
    if isinstance(value, list):
        few = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return few and all(valid(item, schema.get("items", {})) for item in value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        if set(schema.get("required", ())) - set(value) or (
            not schema.get("additionalProperties", True) and set(value) - set(known)
        ):
            return False
        return all(valid(item, known.get(key, {})) for key, item in value.items())
    return True


@given(REPORTS)
def test_every_report_that_is_written_is_valid(report):
    assert valid(to_fields(report))


def test_what_the_schema_refuses_the_reader_refuses(report):
    good = to_fields(report)
    refused = 0
    for path in _paths(good):
        for wrong in ({"surprise": 1}, -1, True, None, "x", 1.5, []):
            bad = json.loads(json.dumps(good))
            spot = bad
            for key in path[:-1]:
                spot = spot[key]
            if not path:
                continue
            spot[path[-1]] = wrong
            if not valid(bad):
                refused += 1
                with pytest.raises(BadInput):
                    from_json(json.dumps(bad))
            else:
                from_json(json.dumps(bad))
    assert refused > 100


def test_it_names_this_version_and_these_kinds():
    assert SCHEMA["properties"]["format"]["const"] == FORMAT and SCHEMA["properties"]["version"]["const"] == VERSION
    assert SCHEMA["$defs"]["allocation"]["properties"]["kind"]["enum"] == [kind.value for kind in Kind]
