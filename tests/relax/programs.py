"""Small Relax programs on which shipping planners have been wrong."""

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class MatchCast:
    """match_cast is an alias of what it casts."""

    @R.function
    def main(x: R.Tensor((5, 8), "float32")):
        source = R.add(x, R.const(0.25, "float32"))
        left = R.match_cast(source, R.Tensor((5, 8), "float32"))
        right = R.add(x, R.const(0.125, "float32"))
        out = R.add(left, right)
        last = R.multiply(out, R.const(1.0, "float32"))
        return last


@I.ir_module
class PackedView:
    """A packed call hands back a view of its argument, which lives on in it."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        source = R.exp(x)
        view = R.call_pure_packed("vm.builtin.reshape", source, R.shape([32]), ty_args=[R.Tensor((32,), "float32")])
        other = R.add(x, R.const(1.0, "float32"))
        last = R.add(view, R.reshape(other, R.shape([32])))
        out = R.multiply(last, R.const(2.0, "float32"))
        return out


@I.ir_module
class UnknownPacked:
    """What a packed function hands back may be a view of any of its arguments."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        first = R.exp(x)
        second = R.sqrt(first)
        which = R.call_pure_packed("tvm_memplan.tests.second", first, second, ty_args=[R.Tensor((4, 8), "float32")])
        third = R.add(x, R.const(1.0, "float32"))
        fourth = R.add(which, third)
        out = R.multiply(fourth, R.const(2.0, "float32"))
        return out


@I.ir_module
class UnreadOutput:
    """Of two outputs one is never read, and is written all the same."""

    @T.prim_func(private=True, s_tir=True)
    def both(x: T.Buffer((16,), "float32"), one: T.Buffer((16,), "float32"), two: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("both"):
                vi = T.axis.remap("S", [i])
                one[vi] = x[vi] + T.float32(1)
                two[vi] = x[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((16,), "float32")):
        cls = UnreadOutput
        start = R.exp(x)
        pair = R.call_tir(cls.both, (start,), out_ty=[R.Tensor((16,), "float32"), R.Tensor((16,), "float32")])
        out = R.add(pair[0], start)
        last = R.sqrt(out)
        return last


@I.ir_module
class Sibling:
    """Two operators read the same tensor."""

    @R.function
    def main(x: R.Tensor((8, 8), "float32")):
        start = R.add(x, x)
        a = R.nn.relu(start)
        b = R.exp(start)
        both = R.add(a, b)
        out = R.sqrt(both)
        return out


@I.ir_module
class InOut:
    """A kernel writes into one of its arguments."""

    @T.prim_func(private=True, s_tir=True)
    def accumulate(x: T.Buffer((16,), "float32"), total: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("accumulate"):
                vi = T.axis.remap("S", [i])
                total[vi] = total[vi] + x[vi]

    @R.function
    def main(x: R.Tensor((16,), "float32")):
        cls = InOut
        total = R.exp(x)
        more = R.sqrt(total)
        grown = R.call_tir_inplace(cls.accumulate, (more, total), [1], R.Tensor((16,), "float32"))
        again = R.exp(more)
        out = R.add(grown, again)
        last = R.negative(out)
        return last


@I.ir_module
class Pieces:
    """An output that is filled piece by piece."""

    @T.prim_func(private=True, s_tir=True)
    def piece(x: T.Buffer((8,), "float32"), whole: T.Buffer((16,), "float32"), at: T.int64):
        for i in range(8):
            with T.sblock("piece"):
                vi = T.axis.remap("S", [i])
                whole[at + vi] = x[vi]

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        R.func_attr({"relax.force_pure": True})
        cls = Pieces
        whole = R.builtin.alloc_tensor(R.shape([16]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        first = R.exp(x)
        _ = cls.piece(first, whole, R.prim_value(T.int64(0)))
        second = R.sqrt(x)
        _1 = cls.piece(second, whole, R.prim_value(T.int64(8)))
        out = R.negative(whole)
        return out


@I.ir_module
class ShiftedSlice:
    """A slice moved by one within its own tensor: in place it would read what it has just written."""

    @T.prim_func(private=True, s_tir=True)
    def shift(base: T.Buffer((64,), "int32"), moved: T.Buffer((64,), "int32")):
        for i in range(64):
            with T.sblock("shift"):
                vi = T.axis.remap("S", [i])
                moved[vi] = T.if_then_else(vi == 0, base[vi], base[vi - 1])

    @R.function
    def main(x: R.Tensor((64,), "int32")):
        cls = ShiftedSlice
        base = R.add(x, R.const(1, "int32"))
        moved = R.call_tir(cls.shift, (base,), out_ty=R.Tensor((64,), "int32"))
        out = R.multiply(moved, R.const(1, "int32"))
        return out


@I.ir_module
class OneBranch:
    """Both branches reshape to and fro: TVM's plan defines the storage in one of them only."""

    @R.function
    def main(cond: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        if cond:
            a = R.reshape(x, R.shape([32]))
            y = R.reshape(a, R.shape([4, 8]))
        else:
            b = R.reshape(x, R.shape([32]))
            y = R.reshape(b, R.shape([4, 8]))
        return y


@I.ir_module
class TwoIfs:
    """What one `if` hands over is alive while the next one runs."""

    @R.function
    def main(p: R.Tensor((), "bool"), q: R.Tensor((), "bool"), x: R.Tensor((8, 8), "float32")):
        if p:
            a = R.exp(x)
            r = R.sqrt(a)
        else:
            b = R.negative(x)
            r = R.exp(b)
        if q:
            c = R.add(r, x)
            if p:
                d = R.multiply(c, c)
                s = R.sqrt(d)
            else:
                s = R.exp(c)
        else:
            s = R.multiply(r, x)
        t = R.add(r, s)
        out = R.negative(t)
        return (out, R.exp(r))


@I.ir_module
class SwappedTuples:
    """Branches that hand over the same tensors in another order, and one tensor twice."""

    @R.function
    def main(p: R.Tensor((), "bool"), x: R.Tensor((8, 8), "float32")):
        if p:
            a = R.exp(x)
            b = R.negative(x)
            r = (a, a, b)
        else:
            c = R.sqrt(x)
            d = R.add(x, x)
            e = R.multiply(x, x)
            r = (c, d, e)
        s = R.add(r[0], r[1])
        t = R.add(s, r[2])
        out = R.negative(t)
        return out


@I.ir_module
class Caller:
    """One function calls another, which hands back its argument or memory of its own."""

    @R.function(private=True)
    def chosen(p: R.Tensor((), "bool"), x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        if p:
            y = x
        else:
            inner = R.exp(x)
            y = R.sqrt(inner)
        return y

    @R.function
    def main(p: R.Tensor((), "bool"), x: R.Tensor((8, 8), "float32")):
        cls = Caller
        start = R.add(x, x)
        got = cls.chosen(p, start)
        other = R.exp(x)
        both = R.add(got, other)
        out = R.negative(both)
        return out


@I.ir_module
class Recursive:
    """A function that calls itself."""

    @R.function
    def main(p: R.Tensor((), "bool"), x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        cls = Recursive
        if p:
            inner = R.add(x, x)
            q = R.less(R.sum(inner), R.const(100.0, "float32"))
            y = cls.main(q, inner)
        else:
            y = R.negative(x)
        return y


@I.ir_module
class Softmaxes:
    """Five of one size, one after the other."""

    @R.function
    def main(x: R.Tensor((256, 256), "float32")):
        a = R.nn.softmax(x)
        b = R.nn.softmax(a)
        c = R.nn.softmax(b)
        d = R.nn.softmax(c)
        e = R.nn.softmax(d)
        return e


@I.ir_module
class Bounded:
    """One dimension, which has an upper bound."""

    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        R.func_attr({"tir_var_upper_bound": {"n": 4}})
        n = T.int64()
        a = R.exp(x)
        b = R.nn.softmax(a)
        c = R.exp(b)
        return c


@I.ir_module
class LowerBound:
    """Only a lower bound is known."""

    @R.function
    def main(x: R.Tensor(("batch", 8), "float32")):
        R.func_attr({"tir_var_lower_bound": {"batch": 1}})
        batch = T.int64()
        a = R.exp(x)
        b = R.nn.softmax(a)
        c = R.exp(b)
        return c


@I.ir_module
class TwoDimensions:
    """Two dimensions, one of which has a bound."""

    @R.function
    def main(x: R.Tensor(("m", "n"), "float32")):
        R.func_attr({"tir_var_upper_bound": {"m": 20}})
        m = T.int64()
        n = T.int64()
        a = R.exp(x)
        b = R.sqrt(a)
        c = R.exp(b)
        d = R.sqrt(c)
        return d


@I.ir_module
class Mixed:
    """Tensors of known, bounded and unbounded sizes in one function."""

    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), y: R.Tensor(("m", 3), "float32"), w: R.Tensor((16, 64), "float32")):
        n = T.int64()
        m = T.int64()
        v = R.exp(w)
        u = R.sqrt(v)
        a = R.matmul(x, u)
        b = R.nn.relu(a)
        c = R.exp(b)
        p = R.exp(y)
        q = R.sum(p)
        out = R.add(R.sum(c), q)
        last = R.negative(out)
        return last
