"""Plans and reports in the formats of other tools, out.

====================  ========  ==============================================================================
module                of        opened by
====================  ========  ==============================================================================
`chrome_trace`        report    ui.perfetto.dev, chrome://tracing
`torch_snapshot`      report    PyTorch's memory viewer (pytorch.org/memory_viz), torch.cuda._memory_viz
`tflm`                plan      TensorFlow Lite Micro: OfflineMemoryAllocation metadata, and its C ``BufferPlan``
`c_header`            report    a C compiler: offsets and sizes as macros
`vela_summary`        report    whatever reads the summary that Arm's Vela writes
`minimalloc`          report    planners that read its CSV; one pool of the report
====================  ========  ==============================================================================

Problems and plans as files that are read, too, are in `tvm_memplan.planning.files`.
"""

from tvm_memplan.report.exchange.c_header import c_header
from tvm_memplan.report.exchange.chrome_trace import chrome_trace
from tvm_memplan.report.exchange.minimalloc import pool_csv
from tvm_memplan.report.exchange.tflm import buffer_plan_c, offline_plan
from tvm_memplan.report.exchange.torch_snapshot import torch_snapshot
from tvm_memplan.report.exchange.vela_summary import vela_summary

__all__ = ["buffer_plan_c", "c_header", "chrome_trace", "offline_plan", "pool_csv", "torch_snapshot", "vela_summary"]
