"""Problems and plans on disk.

========================  =======  =======  =================================================================
format                    reads    writes   holds
========================  =======  =======  =================================================================
`minimalloc` CSV          problem  both     one pool, no pairs; gaps, alignments, offsets
`json`, our own           both     both     everything
`pypto` JSON              problem           pools, capacities, separations, penalties (of dsa-solver)
`xla` text                plan              XLA's buffer assignment with its live ranges; pools by kind, aliases
`tflm` bytes              plan     plan     offsets alone, for a problem that is known: TFLM's offline memory plan
========================  =======  =======  =================================================================

`read_problem` tells them apart. What TVM's own planner is given is read by `tvm_memplan.dialects.usmp`.
"""

from tvm_memplan.planning.files.json import plan_from_json, plan_to_json, problem_from_json, problem_to_json, read_plan
from tvm_memplan.planning.files.minimalloc import plan_to_csv, problem_from_csv, problem_to_csv, read_csv
from tvm_memplan.planning.files.pypto import problem_from_pypto
from tvm_memplan.planning.files.read import is_problem_file, plan_text, read_problem
from tvm_memplan.planning.files.tflm import plan_from_tflm, plan_to_tflm
from tvm_memplan.planning.files.xla import plan_from_xla

__all__ = [
    "is_problem_file",
    "plan_from_json",
    "plan_from_tflm",
    "plan_from_xla",
    "plan_text",
    "plan_to_csv",
    "plan_to_json",
    "plan_to_tflm",
    "problem_from_csv",
    "problem_from_json",
    "problem_from_pypto",
    "problem_to_csv",
    "problem_to_json",
    "read_csv",
    "read_plan",
    "read_problem",
]
