#!/usr/bin/env bash
# A mapper of data frames writes truth values into DynamoDB as the numbers 1 and 0, at every depth.
#
# Package: dynamo-pandas 1.4.1; boto3 1.44.8, through which it writes; moto 5.2.5 as DynamoDB.
# Guess:   True is BOOL true, as boto3 writes it, and as DynamoDB's own type for it is.
# Seen:    N 1 and N 0, for a column of truth values and for those in a map.
# So:      items of one table that several programs write may have a truth value of two types. A reader must expect both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check dynamo-pandas==1.4.1 pandas==3.1.1 boto3==1.44.8 'moto[dynamodb]==5.2.5'

cat >write.py <<'PY'
import os

os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
import boto3  # noqa: E402
import dynamo_pandas  # noqa: E402
import pandas  # noqa: E402
from moto import mock_aws  # noqa: E402

ITEM = {"hidden": True, "seo": {"noindex": False}}
with mock_aws():
    client, table = boto3.client("dynamodb"), boto3.resource("dynamodb").Table("pages")
    client.create_table(TableName="pages", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
    table.put_item(Item={"id": "boto3"} | ITEM)
    dynamo_pandas.put_df(pandas.DataFrame([{"id": "dynamo-pandas"} | ITEM]), table="pages")
    for id in ["boto3", "dynamo-pandas"]:
        item = client.get_item(TableName="pages", Key={"id": {"S": id}})["Item"]
        print(id, item["hidden"], item["seo"]["M"]["noindex"])
PY
timeout 120 venv/bin/python write.py | tee seen
cat >expected <<'TEXT'
boto3 {'BOOL': True} {'BOOL': False}
dynamo-pandas {'N': '1'} {'N': '0'}
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
