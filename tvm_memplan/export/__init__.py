"""A planned model as a folder of plain C that a cross compiler builds, with nothing of TVM on the device.

This part writes files from values and imports no TVM; `tvm_memplan.relay.export` makes the values.
"""

from tvm_memplan.export.folder import files_of, write_folder
from tvm_memplan.export.model import Arena, CModel, Device, Tensor, Weight

__all__ = ["Arena", "CModel", "Device", "Tensor", "Weight", "files_of", "write_folder"]
