#!/usr/bin/env bash
# Two emulators of DynamoDB lose texts of a valid import from S3. One of them says that all is done.
#
# Packages: moto 5.2.5, which reads the lines with py-partiql-parser 0.6.3; ministack 1.5.33.
# Guess:    an import of DynamoDB JSON, one item a line, stores the texts of the items, or reports those that it does not store.
# Seen:     moto ends a text at an apostrophe or at an escaped quotation mark, and keeps escapes as they are written: the import is
#           COMPLETED, without an error. It reads JSON in a text as a part of the line, and loses the item with three errors. ministack
#           ends a line at U+2028, which JSON allows in a text, and loses the item with two errors.
# So:       an import that an emulator has COMPLETED proves nothing until the items are compared.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check 'moto[dynamodb,s3]==5.2.5' py-partiql-parser==0.6.3 ministack==1.5.33

cat >import.py <<'PY'
import gzip
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import boto3
from moto import mock_aws

TEXTS = {
    "plain": "<loc>https://example.com/</loc>",
    "apostrophe": "it's here",
    "quotation": 'a "b" c',
    "line feed": "a\nb",
    "json": json.dumps({"list": [1, {"key": "value"}]}),
    "u+2028": "a\N{LINE SEPARATOR}b",
}
KEYS = {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}


def run(name, **settings):
    settings |= {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
    s3, dynamodb = boto3.client("s3", **settings), boto3.client("dynamodb", **settings)
    s3.create_bucket(Bucket="import")
    for pk, text in TEXTS.items():
        # Each has a table of its own, so that no line changes how the next is read.
        table = "table-" + pk.replace(" ", "-").replace("+", "")
        line = json.dumps({"Item": {"pk": {"S": pk}, "text": {"S": text}}}, ensure_ascii=False) + "\n"
        s3.put_object(Bucket="import", Key=table, Body=gzip.compress(line.encode()))
        source = {"S3BucketSource": {"S3Bucket": "import", "S3KeyPrefix": table}, "InputFormat": "DYNAMODB_JSON"}
        arn = dynamodb.import_table(**source, InputCompressionType="GZIP", TableCreationParameters={"TableName": table, **KEYS})
        arn = arn["ImportTableDescription"]["ImportArn"]
        for _ in range(300):
            found = dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"]
            if found["ImportStatus"] != "IN_PROGRESS":
                break
            time.sleep(0.1)
        item = dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}).get("Item")
        kept = "lost" if item is None else "kept" if item["text"] == {"S": text} else json.dumps(item["text"])
        print(f"{name}, {pk}: {found['ImportStatus']}, {found['ErrorCount']} errors, {kept}")


with mock_aws():
    run("moto")
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
endpoint = f"http://127.0.0.1:{port}"
environment = {"PATH": os.environ["PATH"], "HOME": os.getcwd(), "GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1",
               "MINISTACK_HOST": "127.0.0.1", "IOT_MTLS_ENABLED": "0", "SFTP_ENABLED": "0"}
server = subprocess.Popen([os.path.join(os.path.dirname(sys.executable), "ministack")], env=environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    run("ministack", endpoint_url=endpoint)
finally:
    server.terminate()
    server.wait(20)
PY
venv/bin/python import.py | tee seen
cat >expected <<'TEXT'
moto, plain: COMPLETED, 0 errors, kept
moto, apostrophe: COMPLETED, 0 errors, {"S": "it"}
moto, quotation: COMPLETED, 0 errors, {"S": "a \\"}
moto, line feed: COMPLETED, 0 errors, {"S": "a\\nb"}
moto, json: FAILED, 3 errors, lost
moto, u+2028: COMPLETED, 0 errors, kept
ministack, plain: COMPLETED, 0 errors, kept
ministack, apostrophe: COMPLETED, 0 errors, kept
ministack, quotation: COMPLETED, 0 errors, kept
ministack, line feed: COMPLETED, 0 errors, kept
ministack, json: COMPLETED, 0 errors, kept
ministack, u+2028: FAILED, 2 errors, lost
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
