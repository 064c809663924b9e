"""What can go wrong, one class per kind, so that a caller can tell them apart.

Every message names the thing at fault (file and line, buffer, function, operator, region, dimension)
and, where there is one, the way out. The command line prints the message alone and exits with 2,
or with 1 for `OverBudget`.
"""


class MemPlanError(Exception):
    """Base of every error this package raises on purpose."""


class BadInput(MemPlanError):
    """A file, board, option or value from outside is malformed; the message says where."""


class BadProblem(MemPlanError):
    """A planning problem contradicts itself (negative size, unknown pool, duplicate name, ...)."""


class BadTrace(MemPlanError):
    """A trace uses a buffer where it is not allocated, or allocates one again while it is alive."""


class BadPlan(MemPlanError):
    """The judge refused a plan: two buffers that conflict share a byte, or a rule of a pool is broken."""


class DoesNotFit(MemPlanError):
    """A planner found no place for a buffer within the capacities of the pools it may use."""


class OverBudget(MemPlanError):
    """The planned memory is larger than the region that has to hold it."""


class UnsupportedIR(MemPlanError):
    """The module holds something that cannot be planned here; the message names it and what to do."""


class MissingDependency(MemPlanError):
    """An optional package is needed for what was asked; the message says which extra brings it."""


class RunFailed(MemPlanError):
    """A program that was run to be measured crashed, or ended without a result."""
