#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks the models in this folder with Spin: each sound one holds for every order of events, and
# each planted mistake is found. A search that was cut short counts as failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for tool in spin gcc; do
    command -v "$tool" >/dev/null || { echo "model: $tool is missing" >&2; exit 2; }
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check <model> <holds|refuted> <label> [spin definitions]
check() {
    model=$1 expected=$2 label=$3
    shift 3
    run="$work/$label"
    mkdir -p "$run"
    verdict=unclear
    effort=-O2
    [ "$expected" = holds ] || effort=-O0 # found at once: compiling is what takes the time
    if (cd "$run" && spin -a "$@" "$here/$model.pml" >build.log 2>&1 &&
        gcc $effort -w -DSAFETY -DCOLLAPSE -DMEMLIM=900 -o pan pan.c >>build.log 2>&1 &&
        ./pan -m100000 >search.log 2>&1); then
        if grep -q 'errors: 0' "$run/search.log" &&
            ! grep -Eq 'MEMLIM|depth too small|out of memory|not completed' "$run/search.log"; then
            verdict=holds
        elif grep -q 'assertion violated' "$run/search.log"; then
            verdict=refuted
        fi
    fi
    states=$(awk '/states, stored/ { print $1; exit }' "$run/search.log" 2>/dev/null)
    if [ "$verdict" = "$expected" ]; then
        passed=$((passed + 1))
        printf 'ok      %s %s: %s (%s states)\n' "$model" "$label" "$verdict" "${states:-0}"
    else
        failed=$((failed + 1))
        printf 'FAILED  %s %s: %s, not %s\n' "$model" "$label" "$verdict" "$expected"
        cat "$run"/*.log
    fi
    rm -rf "$run"
}

check watermark holds sound
check watermark holds sound_from_genesis -DFORK=0 -DCRASHES=0
for mistake in CURSOR_FIRST MAX_NOT_MIN ERR_IS_DONE STALE_EPOCH LATE_ACK NO_FENCE; do
    check watermark refuted "$mistake" "-D$mistake"
done
# The sound model is no empty room: a run through everything reaches its good end.
check watermark refuted REACHED -DREACHED

echo "model: $((passed + failed)) checked: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
