#!/usr/bin/env python3
"""Whether emulators of DynamoDB import the rows that bulk writes, and keep all of them. No check of CI: docs/design/bulk-on-aws.md.

    cargo run --profile sim -p waymark-sim --example import_rows -- content.jsonl rows
    python3 -m venv venv && venv/bin/pip install ministack==1.5.33 'moto[server]==5.2.5'
    venv/bin/python tests/deploy/import_rows.py rows

Each emulator imports all files into a new table. Every item is compared with the line that it was made of. Then follows what
DynamoDB's documents say of a bad item, a table that exists, a stream and bulk writes: what an emulator does is printed, not judged.
Ends with status 1 if ministack loses or changes an item. moto does: see findings/import_table_texts.sh."""
import argparse
import contextlib
import gzip
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import boto3
import botocore.config
import botocore.exceptions
from emulator import Emulator, processes

SECONDS = 600
BUCKET, GOOD, BAD = "import-rows", "good/", "bad/"
KEYS = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
    "BillingMode": "PAY_PER_REQUEST",
}
BULK = {"TableName": "rows", "InputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": GOOD, "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": "output/", "OutputType": ["ERROR"]}}


@contextlib.contextmanager
def ministack(tools, folder):
    with Emulator(tools, folder) as emulator:
        yield emulator.endpoint


@contextlib.contextmanager
def moto(tools, folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    endpoint = f"http://127.0.0.1:{port}"
    folder.mkdir(parents=True)
    environment = {"PATH": str(tools), "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    with open(folder / "moto.log", "wb") as log:
        server = subprocess.Popen([tools / "moto_server", "-H", "127.0.0.1", "-p", str(port)], env=environment, cwd=folder,
                                  stdout=log, stderr=subprocess.STDOUT)
        try:
            Emulator.wait_for("moto starts", lambda: answers(server, endpoint), 60)
            yield endpoint
        finally:
            processes.end(server)


def answers(server, endpoint):
    if server.poll() is not None:
        raise SystemExit("moto has ended")
    try:
        with urllib.request.urlopen(f"{endpoint}/moto-api/", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def import_table(dynamodb, prefix, table):
    """The description of an import that has ended."""
    source = {"S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": prefix}, "InputFormat": "DYNAMODB_JSON",
              "InputCompressionType": "GZIP"}
    begun = dynamodb.import_table(**source, TableCreationParameters={"TableName": table, **KEYS})
    arn = begun["ImportTableDescription"]["ImportArn"]

    def ended():
        found = dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"]
        return found if found["ImportStatus"] != "IN_PROGRESS" else None

    return Emulator.wait_for("the import ends", ended, SECONDS)


def counts(found):
    names = ("ProcessedItemCount", "ImportedItemCount", "ErrorCount", "ProcessedSizeBytes", "FailureCode")
    return ", ".join([found["ImportStatus"], *(f"{name} {found[name]}" for name in names if found.get(name) is not None)])


def items(dynamodb, table):
    pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [item for page in pages for item in page["Items"]]


def key(item):
    return item["pk"]["S"], item["sk"]["S"]


def refused(call):
    """What a call that should fail says."""
    try:
        call()
        return "it is done"
    except botocore.exceptions.ClientError as error:
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message'][:90]}"


def bulk_put(endpoint):
    """What an emulator says of StartBulkPutItems. The botocore that ministack pins does not know it yet."""
    scope = "Credential=test/20261101/us-east-1/dynamodb/aws4_request"
    headers = {"X-Amz-Target": "DynamoDB_20120810.StartBulkPutItems", "Content-Type": "application/x-amz-json-1.0",
               "Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"}
    request = urllib.request.Request(endpoint, json.dumps(BULK).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()[:200]
    except urllib.error.HTTPError as error:
        return f"status {error.code}, {error.read().decode()[:120]!r}"


def check(name, endpoint, files, lines):
    settings = {"endpoint_url": endpoint, "region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test",
                "config": botocore.config.Config(s3={"addressing_style": "path"}, read_timeout=SECONDS)}
    dynamodb, s3, streams = (boto3.client(service, **settings) for service in ("dynamodb", "s3", "dynamodbstreams"))
    s3.create_bucket(Bucket=BUCKET)
    for file in files:
        s3.put_object(Bucket=BUCKET, Key=GOOD + file.name, Body=file.read_bytes())
    begun = time.monotonic()
    found = import_table(dynamodb, GOOD, "rows")
    print(f"{name}: {counts(found)}; {time.monotonic() - begun:.1f} s")
    kept = {key(item): item for item in items(dynamodb, "rows")}
    written = {key(item): item for item in lines}
    differ = [at for at, item in written.items() if kept.get(at) != item]
    more = kept.keys() - written.keys()
    print(f"{name}: {len(written)} items were written, {len(kept)} are in the table; {len(differ)} differ or lack, {len(more)} are new")
    for at in differ[:3]:
        print(f"  written {json.dumps(written[at])[:300]}\n  kept    {json.dumps(kept.get(at))[:300]}")

    without_key = {name: value for name, value in lines[0].items() if name != "sk"}
    bad = [lines[0], without_key, lines[1]]
    body = "".join(json.dumps({"Item": item}) + "\n" for item in bad)
    s3.put_object(Bucket=BUCKET, Key=BAD + "bad.json.gz", Body=gzip.compress(body.encode()))
    print(f"{name}: with an item without its key: {counts(import_table(dynamodb, BAD, 'bad'))}; "
          f"{len(items(dynamodb, 'bad'))} items in the table")
    print(f"{name}: into a table that exists: {refused(lambda: import_table(dynamodb, GOOD, 'rows'))}")

    specification = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    dynamodb.update_table(TableName="rows", StreamSpecification=specification)
    stream = dynamodb.describe_table(TableName="rows")["Table"]["LatestStreamArn"]
    shards = streams.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"]
    records = 0
    for shard in shards:
        at = streams.get_shard_iterator(StreamArn=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
        records += len(streams.get_records(ShardIterator=at["ShardIterator"])["Records"])
    print(f"{name}: a stream that was enabled after the import has {records} records")
    print(f"{name}: StartBulkPutItems: {bulk_put(endpoint)}")
    return found["ImportStatus"] == "COMPLETED" and not differ and not more


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="what the example import_rows has written")
    folder = parser.parse_args().folder
    tools = pathlib.Path(sys.executable).parent
    files = sorted(folder.glob("*.json.gz"))
    assert files, f"{folder} has no files"
    # Lines end in a line feed alone: a text may have other characters that Python takes for ends of lines.
    lines = [json.loads(line)["Item"] for file in files for line in gzip.decompress(file.read_bytes()).split(b"\n") if line]
    assert len({key(item) for item in lines}) == len(lines), "two rows have one key: an import would keep any one"
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        for name, emulator in (("ministack", ministack), ("moto", moto)):
            with emulator(tools, pathlib.Path(temporary) / name) as endpoint:
                whole = check(name, endpoint, files, lines)
                good &= whole or name == "moto"
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
