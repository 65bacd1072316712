"""A data frame of all pages: what a page does not have is a missing value of its column."""
import content
import dynamo_pandas
import pandas


def put(name, rows):
    dynamo_pandas.put_df(pandas.DataFrame(rows), table=name)


pages = [{"id": page["slug"]} | page for page in content.pages()]
# Whole columns of times and truth values, as a frame that was read from a database has them.
frame = pandas.DataFrame(pages).astype({"hidden": "boolean"})
for name in content.TIMES:
    frame[name] = pandas.to_datetime(frame[name], utc=True)
dynamo_pandas.put_df(frame, table=content.PAGES)
content.probe(lambda id, attributes: put(content.PROBES, [{"id": id, "kind": id} | attributes]))
