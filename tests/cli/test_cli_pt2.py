"""The commands with programs that PyTorch exported."""

import pytest

pytestmark = pytest.mark.needs_relax

torch = pytest.importorskip("torch", reason="needs PyTorch")

from torch import nn  # noqa: E402

from tvm_memplan.errors import BadInput  # noqa: E402

KINDS = ("conv", "transformer", "dynamic")


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.body = nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        x = torch.relu(self.body(x) + x)
        return self.head(x.mean(dim=(2, 3)))


class Block(nn.Module):
    def __init__(self, width=32, heads=2):
        super().__init__()
        self.heads = heads
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.mixed(self.before(x)).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.permute(0, 2, 1, 3).reshape(batch, length, width))
        return x + self.second(nn.functional.gelu(self.first(self.after(x))))


def exported(kind):
    """The program, and the bytes of its parameters (and of the running statistics that it reads)."""
    torch.manual_seed(1)
    if kind == "conv":
        model, example, dims = Conv(), torch.randn(1, 3, 16, 16), None
    elif kind == "transformer":
        model, example, dims = Block(), torch.randn(1, 12, 32), None
    else:
        model, example = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16)), torch.randn(4, 16)
        dims = ({0: torch.export.Dim("batch", min=1, max=64)},)
    program = torch.export.export(model.eval(), (example,), dynamic_shapes=dims)
    return program, sum(v.numel() * v.element_size() for v in program.state_dict.values() if v.is_floating_point())


@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_program_is_planned(tmp_path, kind):
    from tvm_memplan.relax import plan, read_model

    program, weights = exported(kind)
    torch.export.save(program, tmp_path / "net.pt2")
    report = plan(read_model(tmp_path / "net.pt2"), "c").report
    assert report.pool("weights").planned == weights
    assert report.pool("arena").planned == report.pool("arena").bound > 0
    # The batch has a bound in the program, which makes all sizes known.
    assert not report.left_alone


def test_an_exported_program_is_checked_against_a_board(run, tmp_path):
    torch.export.save(exported("dynamic")[0], tmp_path / "net.pt2")
    assert "net.pt2 fits stm32f746g_disco" in run("check", "net.pt2", "--board", "stm32f746g_disco").stdout


def test_what_is_no_exported_program_is_bad_input_that_says_what_is(tmp_path):
    from tvm_memplan.relax import read_model

    path = tmp_path / "net.pt2"
    torch.export.save(exported("dynamic")[0], path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"net.pt2: not saved by torch.export.save: not a ZIP archive"):
        read_model(path)
    torch.save({"weight": torch.ones(3)}, path)
    with pytest.raises(BadInput, match=r"net.pt2: holds no exported program"):
        read_model(path)
    at = whole.index(b"graph_module")
    path.write_bytes(whole[:at] + b"GRAPH" + whole[at + 5 :])
    with pytest.raises(BadInput, match=r"net.pt2: PyTorch .* cannot read it"):
        read_model(path)


def test_a_planned_program_computes_what_torch_does(tmp_path):
    tvm = pytest.importorskip("tvm")
    from tvm import relax

    from tvm_memplan.relax import build, read_model

    program, _ = exported("conv")
    torch.export.save(program, tmp_path / "net.pt2")
    module = read_model(tmp_path / "net.pt2")
    plain = relax.build(module, "llvm")
    planned, _ = build(module, "llvm")
    results = []
    for seed in (1, 2, 3):
        x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
        values = tvm.runtime.tensor(x.numpy())
        usual, ours = (relax.VirtualMachine(made, tvm.cpu())["main"](values)[0].numpy() for made in (plain, planned))
        assert ours.tobytes() == usual.tobytes()
        assert abs(ours - program.module()(x).detach().numpy()).max() < 1e-4
        results.append(ours.tobytes())
    assert len(set(results)) == 3
