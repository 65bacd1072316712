#!/bin/sh
# Makes the content table say what an export says: rows that are new, changed or gone since last night.
#
#   nightly.sh EXPORT.csv [options of waymark load, such as --stack waymark-production]
#
# Status 0: done. 75: another run has not ended. Any other: nothing was deleted; the message says why, and the next run makes up for it.
set -eu

export=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-$here}

exec 9>"$work/nightly.lock"
flock -n 9 || { echo "nightly.sh: another run has not ended: $work/nightly.lock is locked" >&2; exit 75; }

# An old export would delete what has been published since. This one must have been written within the last 12 hours.
[ -n "$(find "$export" -mmin -720)" ] || { echo "nightly.sh: $export is missing or older than 12 hours" >&2; exit 1; }

waymark import "$export" --from csv --mapping "$here/mapping.json" --output "$work/listings.jsonl"
waymark load "$work/listings.jsonl" --if-changed \
  --delete-missing --scope type=listing,site=www.lantern.example "$@"
