"""What would make a plan smaller, by how many bytes: every figure is computed for it."""

from tvm_memplan.budget.suggest.json import advice_fields
from tvm_memplan.budget.suggest.suggest import Advice, Suggestion, suggest
from tvm_memplan.budget.suggest.text import advice_text

__all__ = ["Advice", "Suggestion", "advice_fields", "advice_text", "suggest"]
