#!/usr/bin/env bash
# A converter to DynamoDB's JSON drops the UTC offset of a time and keeps the clock's digits: another instant is stored.
#
# Packages: dynamodb-json 1.4.2; pynamodb 6.1.0 to compare.
# Guess:    a time with an offset, as of 11:20:30 in Berlin, is stored with its offset, or converted to UTC, or refused.
# Seen:     dynamodb-json stores 11:20:30 without any offset. pynamodb converts it, and writes the offset +0000, which RFC 3339 does
#           not have: a reader that follows the RFC refuses it.
# So:       a text without an offset in a table of such items cannot be read as UTC, and one with an offset may lack its colon.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check dynamodb-json==1.4.2 simplejson==3.20.1 pynamodb==6.1.0 rfc3339-validator==0.1.4

cat >write.py <<'PY'
import json
from datetime import datetime, timedelta, timezone

from dynamodb_json import json_util
from pynamodb.attributes import UTCDateTimeAttribute
from rfc3339_validator import validate_rfc3339

berlin = datetime(2026, 3, 1, 11, 20, 30, tzinfo=timezone(timedelta(hours=1)))
converted = json.loads(json_util.dumps({"at": berlin}))["at"]["S"]
mapped = UTCDateTimeAttribute().serialize(berlin)
for name, text in [("dynamodb-json", converted), ("pynamodb", mapped)]:
    print(name, text, "RFC 3339" if validate_rfc3339(text) else "not RFC 3339")
PY
venv/bin/python write.py | tee seen
cat >expected <<'TEXT'
dynamodb-json 2026-03-01T11:20:30.000000 not RFC 3339
pynamodb 2026-03-01T10:20:30.000000+0000 not RFC 3339
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
