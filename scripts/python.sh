# Sourced by the other scripts: finds a Python and makes virtual environments. Says what it does.

say() { echo "== $*"; }
stop() { echo "$(basename "$0"): $*" >&2; exit 2; }

# Prints a Python from 3.10 to 3.13; 3.11 first, since that is the one most of the measuring was done with.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3.10 python3 python}; do
        if command -v "$candidate" >/dev/null &&
            "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    stop "needs Python 3.10, 3.11, 3.12 or 3.13, and found none${PYTHON:+ (PYTHON=$PYTHON is not one)}." \
        "Install one, for example python3.11 with its venv module, or name it: PYTHON=/path/to/python $0"
}

# make_venv FOLDER: makes the virtual environment, or reuses a working one.
make_venv() {
    if [ -x "$1/bin/python" ] && "$1/bin/python" -m pip --version >/dev/null 2>&1; then
        say "reusing $1 ($("$1/bin/python" -V))"
        return
    fi
    local python
    python=$(find_python)
    say "making $1 with $python ($("$python" -V))"
    rm -rf "$1"
    if ! "$python" -m venv "$1"; then
        rm -rf "$1"
        stop "$python cannot make virtual environments; its venv or ensurepip module is missing." \
            "On Debian and Ubuntu: apt-get install python3-venv"
    fi
}
