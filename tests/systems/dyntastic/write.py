import datetime
import decimal
import os
from typing import Optional

import content

os.environ["DYNTASTIC_HOST"] = content.ENDPOINT

from dyntastic import Dyntastic  # noqa: E402


class Page(Dyntastic):
    __table_name__ = content.PAGES
    __hash_key__ = "id"
    id: str
    slug: str
    title: str
    state: str
    hidden: Optional[bool] = None
    summary: Optional[str] = None
    canonical: Optional[str] = None
    modified: Optional[datetime.datetime] = None
    expires: Optional[datetime.datetime] = None
    priority: Optional[decimal.Decimal] = None
    position: Optional[int] = None
    tags: Optional[set[str]] = None
    images: Optional[list[dict]] = None
    seo: Optional[dict] = None


class Value(Dyntastic):
    __table_name__ = content.PROBES
    __hash_key__ = "id"
    id: str
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


for page in content.pages():
    number = {"priority": decimal.Decimal(str(page["priority"]))} if "priority" in page else {}
    Page(id=page["slug"], **page | number | {"tags": set(page.get("tags", [])) or None}).save()
content.probe(lambda id, attributes: Value(id=id, kind=id, **attributes).save())
