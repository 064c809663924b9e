"""Names, values and flags in C."""

import numpy as np
import pytest

from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.export.cpu import cpu_flags, is_cortex_m
from tvm_memplan.export.model import Weight, c_type
from tvm_memplan.export.names import identifier, identifiers
from tvm_memplan.export.weights import _values


def test_names_that_c_does_not_take_are_changed_and_stay_apart():
    assert identifier("a/b:0") == "a_b_0"
    assert identifier("int") == "int_"
    assert identifier("3d") == "_3d"
    assert identifier("///") == "unnamed"
    made = identifiers(["x.y", "x_y", "X_Y", "x_y_2"])
    assert len({name.upper() for name in made.values()}) == 4


def values(array):
    return list(_values(Weight("w", "w", 0, np.array(array))))


def test_floats_are_read_back_to_the_bit():
    some = np.random.default_rng(1).standard_normal(50).astype("float32")
    some[:4] = [0.0, -0.0, np.finfo("float32").tiny / 8, np.finfo("float32").max]
    read = np.array([float.fromhex(text.removesuffix("f")) for text in values(some)], "float32")
    assert read.tobytes() == some.tobytes()
    assert values(np.array([np.inf, -np.inf], "float32")) == ["INFINITY", "-INFINITY"]
    with pytest.raises(UnsupportedIR, match="'w' holds a NaN"):
        values(np.array([np.nan]))


def test_the_most_negative_number_is_written_as_c_needs_it():
    assert values(np.array([-(2**31)], "int32")) == ["(-2147483647 - 1)"]
    assert values(np.array([-(2**63), 5], "int64")) == ["(-9223372036854775807LL - 1)", "5LL"]
    assert values(np.array([2**64 - 1], "uint64")) == ["18446744073709551615ULL"]
    assert values(np.array([True, False])) == ["1", "0"]


def test_a_type_that_c_lacks_is_named():
    with pytest.raises(UnsupportedIR, match="'w' has elements of type 'float16'"):
        c_type("float16", "weight 'w'")


def test_cores_are_told_to_the_compiler():
    assert cpu_flags("cortex-m4f") == "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
    assert cpu_flags("cortex-m0+ x2") == "-mcpu=cortex-m0plus -mthumb -mfloat-abi=soft"
    assert cpu_flags("cortex-m55 (+Ethos-U55)") == "-mcpu=cortex-m55 -mthumb -mfloat-abi=soft"
    assert cpu_flags("xtensa-lx6 x2") == cpu_flags("") == ""
    assert is_cortex_m("cortex-m7") and not is_cortex_m("riscv 1+8")
