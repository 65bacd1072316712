"""Writes the record of the page that an event tells of."""

import json
import os
from decimal import Decimal

import boto3

table = boto3.resource("dynamodb").Table(os.environ["CONTENT_TABLE"])


def handler(event, _context):
    page = json.loads(json.dumps(event["detail"]), parse_float=Decimal)
    if event["detail-type"] == "Page Removed":
        # Not deleted: a late event of the page would bring it back.
        page = {"id": page["id"], "revision": page["revision"], "status": "trash"}
    try:
        table.put_item(
            Item=page,
            ConditionExpression="attribute_not_exists(revision) OR revision < :revision",
            ExpressionAttributeValues={":revision": page["revision"]},
        )
    except table.meta.client.exceptions.ConditionalCheckFailedException:
        print(f"{page['id']}: revision {page['revision']} is not newer than what the table has")
