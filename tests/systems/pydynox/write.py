import content
from pydynox import DynamoDBClient, Model, ModelConfig
from pydynox.attributes import (BooleanAttribute, DatetimeAttribute, ListAttribute, MapAttribute, NumberAttribute, StringAttribute,
                                StringSetAttribute)

client = DynamoDBClient(region="us-east-1", endpoint_url=content.ENDPOINT)


class Page(Model):
    model_config = ModelConfig(table=content.PAGES, client=client)
    id = StringAttribute(partition_key=True)
    slug, title, state = StringAttribute(), StringAttribute(), StringAttribute()
    hidden = BooleanAttribute()
    summary, canonical = StringAttribute(), StringAttribute()
    modified, expires = DatetimeAttribute(), DatetimeAttribute()
    priority, position = NumberAttribute(), NumberAttribute()
    tags = StringSetAttribute()
    images = ListAttribute()
    seo = MapAttribute()


class Value(Model):
    model_config = ModelConfig(table=content.PROBES, client=client)
    id = StringAttribute(partition_key=True)
    kind = StringAttribute()
    instant = DatetimeAttribute()
    yes, no = BooleanAttribute(), BooleanAttribute()
    nothing, absent, blank = StringAttribute(), StringAttribute(), StringAttribute()
    words, no_words = StringSetAttribute(), StringSetAttribute()
    steps, nested = ListAttribute(), MapAttribute()
    share, count = NumberAttribute(), NumberAttribute()


for page in content.pages():
    Page(id=page["slug"], **page | {"tags": set(page.get("tags", []))}).sync_save()
content.probe(lambda id, attributes: Value(id=id, kind=id, **attributes).sync_save(), without=["day"])
