import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvm_memplan.errors import BadInput
from tvm_memplan.sizes import format_size, parse_size, round_size, show_size

SIZES = st.integers(min_value=0, max_value=2**70)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("65536", 65536),
        ("0", 0),
        ("24KiB", 24576),
        ("24 kib", 24576),
        ("1.5MiB", 1572864),
        ("1 GiB", 2**30),
        ("64kB", 64000),
        ("64 KB", 64000),
        ("2MB", 2_000_000),
        ("344,064 B", 344064),
        ("1_048_576", 1048576),
        (" 12B ", 12),
    ],
)
def test_binary_units_are_1024_and_decimal_ones_1000(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("24K", "24KiB (1024) or 24KB (1000)"),
        ("1m", "ambiguous"),
        ("24 KiBytes", "unknown unit 'KiBytes'"),
        ("lots", "not a size"),
        ("", "not a size"),
        ("-1KiB", "not a size"),
        ("1,5 MiB", "not a size"),
        ("0.3 B", "whole number of bytes"),
        ("1e3", "not a size"),
        ("\u0661", "not a size"),
    ],
)
def test_what_is_no_exact_size_is_refused_with_the_way_out(text, says):
    with pytest.raises(BadInput, match="reserve: ") as caught:
        parse_size(text, "reserve")
    assert says in str(caught.value)


@given(SIZES)
def test_a_formatted_size_reads_back_exactly(size):
    assert parse_size(format_size(size)) == size


@given(SIZES)
def test_the_exact_part_of_a_shown_size_reads_back(size):
    assert parse_size(show_size(size).split(" (")[0]) == size


@given(st.text())
def test_any_text_is_a_size_or_bad_input(text):
    try:
        assert parse_size(text) >= 0
    except BadInput as error:
        assert "size" in str(error)


def test_a_rounded_size_keeps_its_sign():
    assert round_size(344064) == "336.0 KiB"
    assert round_size(-2048) == "-2.0 KiB"
    assert round_size(1023) == "1023 B"
