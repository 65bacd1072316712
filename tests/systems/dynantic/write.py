import datetime
from typing import Optional

import content
from dynantic import DynamoModel, Key


class Page(DynamoModel):
    id: str = Key()
    slug: str
    title: str
    state: str
    hidden: Optional[bool] = None
    summary: Optional[str] = None
    canonical: Optional[str] = None
    modified: Optional[datetime.datetime] = None
    expires: Optional[datetime.datetime] = None
    priority: Optional[float] = None
    position: Optional[int] = None
    tags: Optional[set[str]] = None
    images: Optional[list[dict]] = None
    seo: Optional[dict] = None

    class Meta:
        table_name = content.PAGES


class Value(DynamoModel):
    id: str = Key()
    kind: str
    instant: Optional[datetime.datetime] = None
    day: Optional[datetime.date] = None
    yes: Optional[bool] = None
    no: Optional[bool] = None
    nothing: Optional[str] = None
    blank: Optional[str] = None
    words: Optional[set[str]] = None
    no_words: Optional[set[str]] = None
    steps: Optional[list[str]] = None
    share: Optional[float] = None
    count: Optional[int] = None
    nested: Optional[dict] = None

    class Meta:
        table_name = content.PROBES


for page in content.pages():
    Page(id=page["slug"], **page).save()
content.probe(lambda id, attributes: Value(id=id, kind=id, **attributes).save())
