#!/usr/bin/env bash
# AWS's own converter of JavaScript objects stores a Date as an empty map, if one follows the advice of its error.
#
# Package: @aws-sdk/util-dynamodb 3.996.9, which @aws-sdk/lib-dynamodb uses for every item.
# Guess:   with convertClassInstanceToMap, as the error for a Date says, a Date becomes a text or a number.
# Seen:    it becomes {"M": {}}: the time is lost, and no error is raised.
# So:      an empty map where a time should be is an item that was written so; no reader can bring the time back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @aws-sdk/util-dynamodb@3.996.9 @aws-sdk/client-dynamodb@3.1169.0 >/dev/null

cat >write.mjs <<'JS'
import { marshall } from "@aws-sdk/util-dynamodb";

const item = { at: new Date("2026-03-01T10:20:30.500Z") };
try {
  marshall(item);
} catch (error) {
  console.log("refused, and advises convertClassInstanceToMap:", error.message.includes("convertClassInstanceToMap"));
}
console.log(JSON.stringify(marshall(item, { convertClassInstanceToMap: true })));
JS
node write.mjs | tee seen
cat >expected <<'TEXT'
refused, and advises convertClassInstanceToMap: true
{"at":{"M":{}}}
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
