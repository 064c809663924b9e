"""Is a plan right? The judge knows the values of `tvm_memplan.planning.model` and shares no code with a planner."""
