#!/usr/bin/env bash
# Looks for input that breaks a check of tests/hostile, each target for so many seconds: fuzz/run.sh SECONDS [TARGET...]
# Needs nightly Rust and cargo-fuzz (`cargo install cargo-fuzz`). What is found new is kept in fuzz/target/grown, so that
# the corpus of the repository stays small; an input that breaks a check is kept in fuzz/artifacts, and ends the run.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
PATH=$PWD/../target/tools/bin:$PATH
[ $# -gt 0 ] || set -- corpus/*

# With debug assertions, and so with overflow checks.
fuzz() { cargo +nightly fuzz "$1" --fuzz-dir . --debug-assertions "${@:2}"; }

fuzz build
for target in "${@#corpus/}"; do
  printf '\n== %s, %s s\n' "$target" "$seconds"
  mkdir -p "target/grown/$target"
  # Longer inputs find nothing else, and 1 GiB is far above what a bounded reader needs.
  fuzz run "$target" "target/grown/$target" "corpus/$target" -- \
    -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 -verbosity=0
done
