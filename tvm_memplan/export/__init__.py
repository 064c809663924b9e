"""A planned model as a folder of plain C that a cross compiler builds, with nothing of TVM on the device.

This part writes files from values and imports no TVM; `tvm_memplan.relay.export` makes the values.
"""

from tvm_memplan.export.folder import files_of, write_folder
from tvm_memplan.export.model import Arena, CModel, Device, Tensor, Weight
from tvm_memplan.export.ram_json import memory_fields
from tvm_memplan.export.ram_text import memory_text
from tvm_memplan.export.ram_use import MemoryUse, make, memory_use
from tvm_memplan.export.run_measure import run_measure

__all__ = [
    "Arena",
    "CModel",
    "Device",
    "MemoryUse",
    "Tensor",
    "Weight",
    "files_of",
    "make",
    "memory_fields",
    "memory_text",
    "memory_use",
    "run_measure",
    "write_folder",
]
