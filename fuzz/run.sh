#!/usr/bin/env bash
# Looks for input that breaks a check of tests/hostile, in each target: fuzz/run.sh SECONDS [TARGET...]
#
#     fuzz/run.sh 60 [TARGET...]           something else each time, for so many seconds a target, with AddressSanitizer; what is
#                                          found new is kept in fuzz/target/grown, so that the corpus of the repository stays small
#     fuzz/run.sh --runs 50000 [TARGET...] so many inputs a target, from one seed: the same code sees nearly the same ones, as a
#                                          gate wants. Without AddressSanitizer, which makes it five times as slow: what it finds
#                                          would be in others' crates, since no code here is unsafe
#     fuzz/run.sh --build                  only builds what --runs runs
#
# As many targets run at a time as there are processors. An input that breaks a check is kept in fuzz/artifacts, and ends the run of
# its target; the status is then 1. Needs nightly Rust and cargo-fuzz (`cargo install cargo-fuzz`).
set -euo pipefail
cd "$(dirname "$0")"

usage='usage: fuzz/run.sh SECONDS | --runs RUNS | --build [TARGET...]'
sanitizer=none
case ${1:?$usage} in
  --build) ;;
  --runs)
    shift
    limit=(-runs="${1:?$usage}" -seed=1 -max_total_time=1800) # seconds, which only a very slow machine reaches
    grown=target/scratch
    rm -rf "$grown"
    ;;
  *)
    limit=(-max_total_time="$1")
    grown=target/grown
    sanitizer=address
    ;;
esac
shift
PATH=$PWD/../target/tools/bin:$PATH
# The largest corpora take longest, and so begin first.
[ $# -gt 0 ] || set -- $(du -s corpus/* | sort -rn | cut -f 2)

# With debug assertions, and so with overflow checks.
fuzz() { cargo +nightly fuzz "$1" --fuzz-dir . --debug-assertions --sanitizer "$sanitizer" "${@:2}"; }

fuzz build
[ -n "${limit:-}" ] || exit 0

# fuzzed TARGET: fuzzes one target, which takes one processor, and then prints what it said.
fuzzed() {
  mkdir -p "$grown/$1"
  # Longer inputs find nothing else, and 1 GiB is far above what a bounded reader needs.
  fuzz run "$1" "$grown/$1" "corpus/$1" -- "${limit[@]}" \
    -max_len=65536 -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 -verbosity=0 >"$grown/$1.log" 2>&1 || touch "$grown/$1.failed"
  printf '\n== %s, %s\n%s\n' "$1" "${limit[*]}" "$(cat "$grown/$1.log")"
}
mkdir -p "$grown"
rm -f "$grown"/*.failed
for target in "${@#corpus/}"; do
  while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
  fuzzed "$target" &
done
wait
failed=$(cd "$grown" && ls | sed -n 's/\.failed$//p')
[ -z "$failed" ] || { printf 'broken: %s\n' $failed >&2; exit 1; }
