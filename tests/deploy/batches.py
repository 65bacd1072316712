#!/usr/bin/env python3
"""Writes batches of items into DynamoDB with botocore, the library of the AWS CLI.

    batches.py FILE

A line of FILE is the `RequestItems` of a BatchWriteItem, as JSON. The environment names endpoint, region and credentials."""
import json
import pathlib
import sys

import botocore.session


def main(file):
    client = botocore.session.get_session().create_client("dynamodb")
    for line in pathlib.Path(file).read_text().splitlines():
        left = client.batch_write_item(RequestItems=json.loads(line))["UnprocessedItems"]
        assert not left, left


if __name__ == "__main__":
    main(sys.argv[1])
