"""A data frame of all pages: what a page does not have is a missing value of its column. The columns have no type of their own: a column
of whole numbers with a missing one would be of floats, which are refused."""
import decimal

import awswrangler
import content
import pandas


def put(name, rows):
    awswrangler.dynamodb.put_df(df=pandas.DataFrame(rows, dtype=object), table_name=name)


rows = []
for page in content.pages():
    times = {name: page[name].isoformat() for name in content.TIMES if name in page}
    numbers = {"priority": decimal.Decimal(str(page["priority"]))} if "priority" in page else {}
    sets = {"tags": set(page["tags"])} if page.get("tags") else {"tags": None}
    rows.append({"id": page["slug"]} | page | times | numbers | sets)
put(content.PAGES, rows)
content.probe(lambda id, attributes: put(content.PROBES, [{"id": id, "kind": id} | attributes]))
