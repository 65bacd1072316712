import content
from pynamodb.attributes import (BooleanAttribute, ListAttribute, MapAttribute, NumberAttribute, UnicodeAttribute, UnicodeSetAttribute,
                                 UTCDateTimeAttribute)
from pynamodb.models import Model


class Image(MapAttribute):
    src = UnicodeAttribute()
    caption = UnicodeAttribute(null=True)


class Page(Model):
    class Meta:
        table_name, region, host = content.PAGES, "us-east-1", content.ENDPOINT

    id = UnicodeAttribute(hash_key=True)
    slug, title, state = UnicodeAttribute(), UnicodeAttribute(), UnicodeAttribute()
    hidden = BooleanAttribute(null=True)
    summary, canonical = UnicodeAttribute(null=True), UnicodeAttribute(null=True)
    modified, expires = UTCDateTimeAttribute(null=True), UTCDateTimeAttribute(null=True)
    priority, position = NumberAttribute(null=True), NumberAttribute(null=True)
    tags = UnicodeSetAttribute(null=True)
    images = ListAttribute(of=Image, null=True)
    seo = MapAttribute(null=True)


class Value(Model):
    class Meta:
        table_name, region, host = content.PROBES, "us-east-1", content.ENDPOINT

    id = UnicodeAttribute(hash_key=True)
    kind = UnicodeAttribute()
    instant = UTCDateTimeAttribute(null=True)
    yes, no = BooleanAttribute(null=True), BooleanAttribute(null=True)
    nothing, absent, blank = UnicodeAttribute(null=True), UnicodeAttribute(null=True), UnicodeAttribute(null=True)
    words, no_words = UnicodeSetAttribute(null=True), UnicodeSetAttribute(null=True)
    steps, nested = ListAttribute(null=True), MapAttribute(null=True)
    share, count_ = NumberAttribute(null=True), NumberAttribute(null=True, attr_name="count")


def put(id, attributes):
    # A model has a method `count`.
    Value(id=id, kind=id, **{"count_" if name == "count" else name: value for name, value in attributes.items()}).save()


for page in content.pages():
    Page(id=page["slug"], **page | {"tags": set(page.get("tags", [])), "images": [Image(**image) for image in page.get("images", [])]}).save()
content.probe(put, without=["day"])
