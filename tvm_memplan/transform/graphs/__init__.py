"""Relax functions: their problems, their plans, and modules with the plans in them.

::

    ends, guests       what outputs and inputs become, and which tensors may lie in an input that was given away
    body, problem      a function as a planning problem
    search, symbolic   how few kernels are looked into; tensors of open size
    plan, notes        the judged plan, and what is said about it
    calls              calls of which arguments share bytes
    modules            all functions of a module
    places, write      storages and spots, and the module with them
"""
