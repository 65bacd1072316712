#!/usr/bin/env bash
# Two mappers store the same time as a count of seconds, and differ by one: one of them stores a second that has not come yet.
#
# Packages: dynamoose 4.2.0 (storage "seconds"), @nova-odm/marshaller 0.8.3, from npm.
# Guess:    a time as whole seconds is the second that has begun, as with every clock and as Math.floor(Date.now() / 1000).
# Seen:     of 10:20:30.7 nova-odm stores the second of :30, and dynamoose that of :31. So what dynamoose stores is a time that is
#           later than the one that it was given.
# So:       what was stored just now may be in the future for as much as half a second; a comparison with the clock must allow for it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund dynamoose@4.2.0 @nova-odm/marshaller@0.8.3 @aws-sdk/client-dynamodb@3.1169.0

cat >write.mjs <<'JS'
import marshaller from "@nova-odm/marshaller";
import dynamoose from "dynamoose";

const second = (text) => new Date(Number(text) * 1000).toISOString().slice(17, 19);
dynamoose.aws.ddb.local("http://127.0.0.1:9");
const schema = new dynamoose.Schema({ id: String, at: { type: { value: Date, settings: { storage: "seconds" } } } });
const Page = dynamoose.model("pages", schema, { create: false, waitForActive: false });
for (const time of ["2026-03-01T10:20:30.200Z", "2026-03-01T10:20:30.700Z"]) {
  const at = new Date(time);
  const request = await Page.create({ id: "a", at }, { return: "request" });
  const other = marshaller.marshallItem({ at: { type: "Date" } }, { at });
  console.log(time.slice(17, 21), "dynamoose", second(request.Item.at.N), "nova-odm", second(other.at.N));
}
JS
timeout 60 node write.mjs | tee seen
cat >expected <<'TEXT'
30.2 dynamoose 30 nova-odm 30
30.7 dynamoose 31 nova-odm 30
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
