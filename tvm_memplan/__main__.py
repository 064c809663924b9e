"""``python -m tvm_memplan``: the command line."""

import sys

from tvm_memplan.cli import main

if __name__ == "__main__":
    sys.exit(main())
