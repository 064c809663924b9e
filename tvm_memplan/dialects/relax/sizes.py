"""How large a tensor of a Relax function is: in bytes, at declared bounds, or as an expression.

An element takes its bits rounded up to whole bytes, which is what TVM allocates for it: ``int4[63]`` takes 63 bytes
and a bool takes one. A dimension that is not a constant counts at its upper bound, where its variables have one;
otherwise it stays in the expression. A lower bound says nothing about the memory and is not looked at.

::

    f32[4, 8]                                128 bytes
    f32[n, 8], n <= 4                        128 bytes, if n really is 4 at most: whoever plans with it checks that
    f32[m, n], m <= 20, nothing about n      80 * n bytes
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import ir, sym, tirx

from tvm_memplan.dialects.tirx.arithmetic import variables
from tvm_memplan.errors import UnsupportedIR

# What TVM's bounds say where there is none.
_UNBOUNDED = 2**62


@dataclass(frozen=True)
class TensorSize:
    """The size of a tensor: ``coefficient`` bytes, times every factor.

    Parameters
    ----------
    coefficient : int
        Bytes.
    factors : tuple of PrimExpr
        The dimensions without a bound.
    at_bound : tuple of Var
        Variables that were counted at their upper bound.
    """

    coefficient: int
    factors: tuple[Any, ...] = ()
    at_bound: tuple[Any, ...] = ()

    @property
    def bytes(self) -> int | None:
        """Bytes, None where a dimension has no bound."""
        return None if self.factors else self.coefficient

    @property
    def expression(self) -> Any:
        """The product of the factors."""
        product = self.factors[0]
        for factor in self.factors[1:]:
            product = product * factor
        return product

    def multiple_of(self, other: TensorSize) -> bool:
        """Whether the factors of both have the same product, whatever the variables are."""
        if len(self.factors) == len(other.factors) and set(self.free) == set(other.free):
            if not self.factors or all(a.same_as(b) for a, b in zip(self.factors, other.factors)):
                return True
            return bool(sym.Analyzer().can_prove_equal(self.expression, other.expression))
        return False

    def held_by(self, host: TensorSize) -> frozenset[Any] | None:
        """Whether the factors of `host` have no smaller product than ours, whatever the variables are.

        Returns
        -------
        frozenset of Var or None
            None where that is not proved; else the variables that have to be counted as 1 in `host` when they are 0:
            ``n * m`` is no less than ``n``, unless there is no row at all.
        """
        rest = list(host.factors)
        for factor in self.factors:
            same = (i for i, theirs in enumerate(rest) if _equal(theirs, factor))
            at = next(same, None)
            if at is None:
                return None
            del rest[at]
        raised: set[Any] = set()
        for factor in rest:
            if isinstance(factor, ir.Var):
                # What is 0 in ours, too, leaves nothing to hold.
                raised |= set() if any(factor.same_as(mine) for mine in self.factors) else {factor}
            elif not _at_least_one(factor):
                return None
        return frozenset(raised)

    def raised(self, variables: Container[Any]) -> Any:
        """The product of the factors, where some variables count as 1 at least."""
        one = tirx.IntImm("int64", 1)
        changed = (tirx.Max(f, one) if isinstance(f, ir.Var) and f in variables else f for f in self.factors)
        return TensorSize(1, tuple(changed)).expression

    @property
    def free(self) -> tuple[Any, ...]:
        """The variables without a bound, each once."""
        found: dict[Any, None] = {}
        for factor in self.factors:
            found |= dict.fromkeys(variables(factor))
        return tuple(found)


def measure(shape: Sequence[Any], dtype: Any, bounds: Mapping[Any, int], tensor: str) -> TensorSize:
    """Measure a tensor.

    Parameters
    ----------
    shape : sequence of PrimExpr
        Its dimensions.
    dtype : DataType
        Of its elements.
    bounds : mapping of Var to int
        The largest value of each variable that has one.
    tensor : str
        What it is called, for messages.

    Raises
    ------
    UnsupportedIR
        A dimension is 0 or less.
    """
    coefficient = (int(dtype.bits) * int(dtype.lanes) + 7) // 8
    factors: list[Any] = []
    at_bound: dict[Any, None] = {}
    analyzer = _analyzer(bounds)
    for dim in shape:
        if isinstance(dim, (int, tirx.IntImm)):
            if int(dim) <= 0:
                raise UnsupportedIR(f"{tensor}: a dimension is {int(dim)}, in the shape {_show(shape)}")
            coefficient *= int(dim)
            continue
        most = _most(dim, analyzer)
        if most is not None:
            if most < 0:
                raise UnsupportedIR(f"{tensor}: dimension {dim} can be {most} at most, in the shape {_show(shape)}")
            coefficient *= most
            at_bound |= dict.fromkeys(v for v in variables(dim) if v in bounds)
        else:
            constant, rest = _split(analyzer.simplify(dim))
            coefficient *= constant
            factors += rest
    factors.sort(key=str)
    return TensorSize(coefficient, tuple(factors), tuple(at_bound))


def is_empty(shape: Sequence[Any]) -> bool:
    """Whether a dimension is 0."""
    return any(isinstance(dim, tirx.IntImm) and int(dim) == 0 for dim in shape)


def _show(shape: Sequence[Any]) -> str:
    return f"[{', '.join(str(int(dim) if isinstance(dim, tirx.IntImm) else dim) for dim in shape)}]"


def _analyzer(bounds: Mapping[Any, int]) -> Any:
    analyzer = sym.Analyzer()
    for var, most in bounds.items():
        analyzer.bind(var, ir.Range(tirx.IntImm("int64", 0), tirx.IntImm("int64", most + 1)))
    return analyzer


def _equal(one: Any, other: Any) -> bool:
    return bool(one.same_as(other) or sym.Analyzer().can_prove_equal(one, other))


def _at_least_one(factor: Any) -> bool:
    analyzer = _analyzer(dict.fromkeys(variables(factor), 2**40))
    return int(analyzer.const_int_bound(factor).min_value) >= 1


def _most(dim: Any, analyzer: Any) -> int | None:
    most = int(analyzer.const_int_bound(dim).max_value)
    return most if most < _UNBOUNDED else None


def _split(dim: Any) -> tuple[int, list[Any]]:
    """A dimension as a constant times other factors."""
    if isinstance(dim, tirx.IntImm) and int(dim) > 0:
        return int(dim), []
    if isinstance(dim, tirx.Mul):
        (one, left), (other, right) = _split(dim.a), _split(dim.b)
        return one * other, left + right
    return 1, [dim]


def rounded_up(expression: Any, alignment: int) -> Any:
    """The smallest multiple of `alignment` that is not below `expression`."""
    unit = tirx.IntImm("int64", alignment)
    return tirx.floordiv(expression + (alignment - 1), unit) * unit
