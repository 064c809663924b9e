"""What cannot be exported is refused with a reason, and nothing is written."""

import pytest

pytest.importorskip("tvm.relay")

from tests.export.boards import one_memory
from tests.relay import networks
from tvm_memplan.errors import BadInput, UnsupportedIR
from tvm_memplan.planning.model import Pool
from tvm_memplan.relay import export
from tvm_memplan.relay.operators_c import operators_source


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "llvm", "io_in_pool": False}, "export writes plain C"),
        ({"target": "llvm"}, "io_in_pool needs the C interface"),
        ({"name": "My Model"}, "name 'My Model'"),
        ({"name": "int"}, "name 'int'"),
        ({"board": one_memory(1 << 20), "pools": [Pool("a")]}, "either a board or pools"),
        ({"board": one_memory(1 << 20), "weights_in": "dtcm"}, "cannot be copied to 'dtcm'; the plan uses sram"),
        ({"board": one_memory(1 << 20), "memory": ("sram", "sram")}, "have bytes in common"),
    ],
)
def test_options_that_contradict_are_named(tmp_path, options, message):
    with pytest.raises(BadInput, match=message):
        export(networks.integer(), None, tmp_path / "c", **options)
    assert not (tmp_path / "c").exists()


def test_an_output_that_nothing_is_written_to_is_not_exported(tmp_path):
    with pytest.raises(UnsupportedIR, match=r"nothing is written to output|TVM cannot build"):
        export(networks.returned_twice(), None, tmp_path / "c", io_in_pool=False)


class Source:
    """Generated C, as TVM's module hands it out."""

    def __init__(self, text):
        self.lib = self
        self.imported_modules = [self]
        self.type_key = "c"
        self.text = text

    def get_source(self):
        return self.text


MAIN = "int32_t tvmgen_net___tvm_main__(void* x, uint8_t* {pools}) {{ {body} return 0; }}\n"


def test_code_that_needs_more_than_c_is_named():
    entry = "tvmgen_net___tvm_main__"
    plain = MAIN.format(pools="workspace_a_1_var", body="")
    assert "#include <math.h>" in operators_source(Source(f'#include "tvm/x.h"\n#include <math.h>\n{plain}'), entry)
    with pytest.raises(UnsupportedIR, match=r"'arm_math\.h'"):
        operators_source(Source(f'#include "arm_math.h"\n{plain}'), entry)
    with pytest.raises(UnsupportedIR, match="TVMBackendAllocWorkspace"):
        operators_source(Source(MAIN.format(pools="w_1_var", body="TVMBackendAllocWorkspace(1);")), entry)
