#!/usr/bin/env bash
# Sets up the environment where needed and runs the notebooks in order; ./run_all.sh --help tells more.
set -euo pipefail

script=${BASH_SOURCE[0]}
while [ -L "$script" ]; do
    folder=$(CDPATH='' cd -P -- "$(dirname -- "$script")" && pwd)
    script=$(readlink -- "$script")
    case $script in /*) ;; *) script=$folder/$script ;; esac
done
root=$(CDPATH='' cd -P -- "$(dirname -- "$script")" && pwd)

export PYTHONPATH="$root:$root/notebooks${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONDONTWRITEBYTECODE=1 # a run leaves nothing in the tree but its results

for python in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        exec "$python" -P -m suite.runner.run "$@" # -P: modules come from the suite, never from the caller's folder
    fi
done
echo "run_all.sh: found no Python 3.11 or newer on PATH; install one (Debian: apt-get install python3 python3-venv)" >&2
exit 1
