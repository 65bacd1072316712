#!/usr/bin/env bash
# What action.yml runs: downloads the command of a release, verifies its checksum and the attestation of its build, and runs `check`
# or `diff`. Its inputs are
# variables of the environment. It keeps to bash 3.2, which macOS has.
set -euo pipefail

# Seconds for one download.
DOWNLOAD=300
# GitHub refuses a step's summary of more than 1 MiB.
SUMMARY_BYTES=1000000

here=$(cd "$(dirname "$0")" && pwd)
# fail WHY: ends the step before the command has run. The text is one line: a second could be a command of the workflow.
fail() {
  printf '::error::%s\n' "$(printf '%s' "waymark action: $1" | tr '\r\n' '  ')"
  [ -z "${GITHUB_OUTPUT:-}" ] || printf 'status=2\n' >>"$GITHUB_OUTPUT"
  exit 2
}

version=${INPUT_VERSION:-}
version=${version#v}
# `uses: …@TAG` has fetched the repository at that tag.
[ -n "$version" ] || version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../../Cargo.toml" | head -n 1)
case $version in
  '' | *[!0-9A-Za-z.+-]*) fail "the version is \"$version\", and should be one such as 0.1.0" ;;
esac

case $(uname -s) in
  Linux) system=unknown-linux-gnu ;;
  Darwin) system=apple-darwin ;;
  *) fail "there is no waymark for $(uname -s): use a runner with Linux or macOS" ;;
esac
case $(uname -m) in
  x86_64) target=x86_64-$system ;;
  aarch64 | arm64) target=aarch64-$system ;;
  *) fail "there is no waymark for the processor $(uname -m): use a runner with x86-64 or arm64" ;;
esac

work=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/waymark.XXXXXX")
trap 'rm -rf "$work"' EXIT

releases=${INPUT_RELEASES:-https://github.com/$ACTION_REPOSITORY/releases/download}
# fetch NAME: gets a file of the release.
fetch() {
  local from=${releases%/}/v$version/$1
  case $releases in
    https://*)
      curl --fail --silent --show-error --location --proto =https --proto-redir =https --retry 3 --max-time "$DOWNLOAD" \
        --output "$work/$1" "$from" || fail "failed to download $from: is $version a release, and is it for $target?"
      ;;
    *://*) fail "releases is $releases, and should begin with https:// or be a folder" ;;
    *) cp "$from" "$work/$1" || fail "failed to copy $from: is $version in that folder, and is it for $target?" ;;
  esac
}

sha256() {
  if type sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

archive=waymark-$version-$target.tar.gz
fetch SHA256SUMS
fetch "$archive"
wanted=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS of release $version does not name $archive"
found=$(sha256 "$work/$archive")
[ "$found" = "$wanted" ] || fail "the checksum of $archive is $found, and SHA256SUMS says $wanted: it was not downloaded whole, or was changed. Nothing was run"
# Whoever can replace a file of the release can replace SHA256SUMS too. What GitHub signed names the workflow that built the file. A
# copy of the releases elsewhere has the same attestations; a folder or server of another's builds has none.
case ${INPUT_ATTESTATION:-true} in
  true)
    type gh >/dev/null 2>&1 || fail "there is no gh on this runner, with which the attestation of $archive is verified: install GitHub's CLI. Nothing was run"
    gh attestation verify "$work/$archive" --repo "$ACTION_REPOSITORY" --signer-workflow "$ACTION_REPOSITORY/.github/workflows/release.yml" \
      >"$work/attestation" 2>&1 || fail "$ACTION_REPOSITORY did not attest that its release workflow built $archive ($(tail -n 1 "$work/attestation")). Nothing was run"
    ;;
  false) ;;
  *) fail "attestation is \"$INPUT_ATTESTATION\", and should be true or false" ;;
esac
unset GH_TOKEN
tar -xzf "$work/$archive" -C "$work"
waymark=$work/waymark-$version-$target/waymark

# Arguments, which begin with the command: a list that is never empty, which bash 3.2 needs.
arguments=("${INPUT_COMMAND:-check}")
command=${arguments[0]}
# option NAME VALUE: adds it if there is a value. It is one argument, so that a value that begins with `-` is no option.
option() { [ -z "$2" ] || arguments+=("--$1=$2"); }
# lines TEXT: the lines that are not empty, with no blanks around them.
lines() { printf '%s\n' "$1" | tr -d '\r' | sed 's/^[[:space:]]*//; s/[[:space:]]*$//; /^$/d'; }

# What a site says is in the output, so nothing of it may be a command of the workflow. Annotations are, and are escaped.
is_quiet=yes
case $command in
  check)
    option origin "${INPUT_ORIGIN:-}"
    option rules "${INPUT_RULES:-}"
    option fail-on "${INPUT_FAIL_ON:-}"
    option baseline "${INPUT_BASELINE:-}"
    option format "${INPUT_SARIF:+sarif=$INPUT_SARIF}"
    option format "markdown=$work/summary.md"
    case ${INPUT_ANNOTATIONS:-true} in
      true) option format github; is_quiet= ;;
      false) option format text ;;
      *) fail "annotations is \"$INPUT_ANNOTATIONS\", and should be true or false" ;;
    esac
    ;;
  diff)
    for name in ORIGIN RULES FAIL_ON BASELINE SARIF; do
      value=INPUT_$name
      [ -z "${!value:-}" ] || fail "the input $(printf '%s' "$name" | tr 'A-Z_' 'a-z-') is for check, and the command is diff"
    done
    option format text
    ;;
  *) fail "the command is \"$command\", and should be check or diff" ;;
esac
while IFS= read -r line; do
  arguments+=("$line")
done < <(lines "${INPUT_OPTIONS:-}")
arguments+=(--)
targets=0
while IFS= read -r line; do
  arguments+=("$line")
  targets=$((targets + 1))
done < <(lines "${INPUT_TARGETS:-}")
[ "$targets" -gt 0 ] || fail "targets is empty: name a site, a folder or a file"
[ "$command" = check ] || [ "$targets" = 2 ] || fail "diff compares two targets, and targets has $targets lines"

token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
[ -z "$is_quiet" ] || printf '::stop-commands::%s\n' "$token"
status=0
"$waymark" "${arguments[@]}" | tee "$work/printed" || status=${PIPESTATUS[0]}
[ -z "$is_quiet" ] || printf '::%s::\n' "$token"

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  case $command in
    check) [ ! -f "$work/summary.md" ] || head -c "$SUMMARY_BYTES" "$work/summary.md" ;;
    # GitHub colours it. No line of it begins with a fence.
    diff) printf '```diff\n%s\n```\n' "$(head -c "$SUMMARY_BYTES" "$work/printed")" ;;
  esac >>"$GITHUB_STEP_SUMMARY"
fi
[ -z "${GITHUB_OUTPUT:-}" ] || printf 'status=%s\n' "$status" >>"$GITHUB_OUTPUT"
exit "$status"
