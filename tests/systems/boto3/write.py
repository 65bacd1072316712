"""The resource's Table: no floats and no times, which code of the user's turns into decimals and texts."""
import decimal

import boto3
import content

table = boto3.resource("dynamodb").Table


def put(name, id, attributes):
    table(name).put_item(Item={"id": id} | attributes)


for page in content.pages():
    times = {name: page[name].isoformat() for name in content.TIMES if name in page}
    numbers = {"priority": decimal.Decimal(str(page["priority"]))} if "priority" in page else {}
    sets = {"tags": set(page["tags"])} if page.get("tags") else {"tags": None}
    put(content.PAGES, page["slug"], page | times | numbers | sets)
content.probe(lambda id, attributes: put(content.PROBES, id, {"kind": id} | attributes))
