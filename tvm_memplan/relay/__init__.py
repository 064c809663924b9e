"""The Relay line, end to end: a model in, a planned build out. Needs the `relay` extra."""

from tvm_memplan.relay.build_model import Built, build
from tvm_memplan.relay.compare import USMP_ALGORITHMS, Comparison, compare
from tvm_memplan.relay.export_model import Exported, export
from tvm_memplan.relay.frontends import read_model
from tvm_memplan.relay.measure import measure
from tvm_memplan.relay.plan_graph import PlannedGraph, plan_graph
from tvm_memplan.relay.plan_model import PlannedModel, plan
from tvm_memplan.relay.targets import Configuration, host_config, micro_config

__all__ = [
    "USMP_ALGORITHMS",
    "Built",
    "Comparison",
    "Configuration",
    "Exported",
    "PlannedGraph",
    "PlannedModel",
    "build",
    "compare",
    "export",
    "host_config",
    "measure",
    "micro_config",
    "plan",
    "plan_graph",
    "read_model",
]
