"""Programs whose outputs and inputs are what matters."""

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Chain:
    """One tensor in, one out, element by element."""

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        a = R.add(x, x)
        b = R.exp(a)
        c = R.sqrt(b)
        d = R.negative(c)
        return d


@I.ir_module
class Decode:
    """A decoder's step: one position of a cache of a fixed size is replaced, and what is in it is attended to."""

    @R.function
    def main(
        x: R.Tensor((1, 32), "float32"),
        here: R.Tensor((16, 1), "float32"),
        keys: R.Tensor((16, 32), "float32"),
        values: R.Tensor((16, 32), "float32"),
        wk: R.Tensor((32, 32), "float32"),
        wv: R.Tensor((32, 32), "float32"),
    ):
        R.func_attr({"num_input": 4})
        away = R.subtract(R.const(1.0, "float32"), here)
        k = R.matmul(x, wk)
        v = R.matmul(x, wv)
        new_keys = R.add(R.multiply(keys, away), R.multiply(k, here))
        new_values = R.add(R.multiply(values, away), R.multiply(v, here))
        scores = R.nn.softmax(R.matmul(x, R.permute_dims(new_keys)), axis=-1)
        y = R.add(R.matmul(scores, new_values), x)
        return y, new_keys, new_values


@I.ir_module
class Concat:
    """A decoder's step with a cache that grows: the old one is dead once it has been copied."""

    @R.function
    def main(
        x: R.Tensor((1, 32), "float32"),
        keys: R.Tensor((15, 32), "float32"),
        values: R.Tensor((15, 32), "float32"),
        wq: R.Tensor((32, 32), "float32"),
        wk: R.Tensor((32, 32), "float32"),
        wv: R.Tensor((32, 32), "float32"),
        wo: R.Tensor((32, 256), "float32"),
    ):
        R.func_attr({"num_input": 3})
        with R.dataflow():
            new_keys = R.concat([keys, R.matmul(x, wk)], axis=0)
            new_values = R.concat([values, R.matmul(x, wv)], axis=0)
            scores = R.matmul(R.matmul(x, wq), R.permute_dims(new_keys))
            mixed = R.matmul(R.nn.softmax(scores, axis=-1), new_values)
            fed = R.nn.gelu(R.matmul(mixed, wo))
            y = R.add(R.matmul(fed, R.permute_dims(wo)), x)
            R.output(y, new_keys, new_values)
        return y, new_keys, new_values


@I.ir_module
class Reversed:
    """The output is the input back to front: it must not be written over it."""

    @R.function
    def main(x: R.Tensor((64,), "float32"), y: R.Tensor((64,), "float32")):
        a = R.flip(x, axis=0)
        b = R.add(R.exp(a), y)
        return R.subtract(b, R.flip(b, axis=0))


@I.ir_module
class Shapes:
    """Outputs that are an input, a view, the same as another, one of two, and plain."""

    @R.function
    def main(p: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32"), z: R.Tensor((8,), "float32")):
        a = R.exp(x)
        flat = R.reshape(a, R.shape([32]))
        b = R.sqrt(a)
        if p:
            c = R.add(b, b)
            r = c
        else:
            r = x
        d = R.negative(b)
        e = R.multiply(r, d)
        return (z, flat, (b, b), r, e)


@I.ir_module
class Growing:
    """Open dimensions: one output as large as an input, one larger."""

    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), y: R.Tensor(("n", 16), "float32")):
        a = R.exp(x)
        b = R.add(a, y)
        c = R.concat([b, a], axis=0)
        return R.negative(b), R.sqrt(c)


@I.ir_module
class Entries:
    """Of two functions one is called by the other."""

    @R.function
    def inner(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        a = R.exp(x)
        return R.sqrt(a)

    @R.function
    def main(x: R.Tensor((8, 8), "float32")):
        cls = Entries
        a = cls.inner(x)
        b = R.add(a, a)
        return R.negative(b)
