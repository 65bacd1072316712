import decimal

import boto3
import content
from bloop import BaseModel, Boolean, Column, DateTime, DynamicMap, Engine, Integer, List, Map, Number, Set, String


class Page(BaseModel):
    class Meta:
        table_name = content.PAGES

    id = Column(String, hash_key=True)
    slug, title, state = Column(String), Column(String), Column(String)
    hidden = Column(Boolean)
    summary, canonical = Column(String), Column(String)
    modified, expires = Column(DateTime), Column(DateTime)
    priority, position = Column(Number), Column(Integer)
    tags = Column(Set(String))
    images = Column(List(Map(src=String, caption=String)))
    seo = Column(Map(noindex=Boolean))


class Value(BaseModel):
    class Meta:
        table_name = content.PROBES

    id = Column(String, hash_key=True)
    kind = Column(String)
    instant = Column(DateTime)
    yes, no = Column(Boolean), Column(Boolean)
    nothing, absent, blank = Column(String), Column(String), Column(String)
    words, no_words = Column(Set(String)), Column(Set(String))
    steps, nested = Column(List(String)), Column(DynamicMap)
    share, count = Column(Number), Column(Integer)


engine = Engine(dynamodb=boto3.client("dynamodb"))
# The tables are there; that they have what the models need is not asked.
engine.bind(BaseModel, skip_table_setup=True)
for page in content.pages():
    number = {"priority": decimal.Decimal(str(page["priority"]))} if "priority" in page else {}
    engine.save(Page(id=page["slug"], **page | number | {"tags": set(page.get("tags", []))}))
content.probe(lambda id, attributes: engine.save(Value(id=id, kind=id, **attributes)), without=["day"])
