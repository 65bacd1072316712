import { createRequire } from "node:module";

import { PAGES, PROBES, pages, probe } from "./content.mjs";

const require = createRequire(import.meta.url);
const { DynamoDB } = require("@aws-sdk/client-dynamodb");
const { Dynamode, Entity, TableManager, attribute } = require("dynamode");

Dynamode.ddb.set(new DynamoDB());

// What TypeScript makes of `@attribute.string() name: string` in a class.
function manager(tableName, type, attributes) {
  attribute.partitionKey.string({ prefix: type.name.toUpperCase() })(type.prototype, "id");
  for (const [name, decorate] of Object.entries(attributes)) decorate(type.prototype, name);
  return new TableManager(type, { tableName, partitionKey: "id" }).entityManager();
}
class Page extends Entity {
  constructor(values) {
    super(values);
    Object.assign(this, values);
  }
}
class Value extends Entity {
  constructor(values) {
    super(values);
    Object.assign(this, values);
  }
}
const { string, number, object, array, set } = attribute;
const boolean = attribute.boolean;
const time = () => attribute.date.string();
const PageManager = manager(PAGES, Page, {
  slug: string(), title: string(), state: string(), hidden: boolean(), summary: string(), canonical: string(), modified: time(),
  expires: time(), priority: number(), position: number(), tags: set(), images: array(), seo: object(),
});
const ValueManager = manager(PROBES, Value, {
  kind: string(), absent: string(), instant: time(), yes: boolean(), no: boolean(), nothing: string(), blank: string(), words: set(),
  no_words: set(), steps: array(), share: number(), count: number(), nested: object(),
});

for (const { tags, ...page } of pages()) {
  await PageManager.put(new Page({ id: page.slug, ...page, ...(tags?.length && { tags: new Set(tags) }) }));
}
await probe((id, attributes) => ValueManager.put(new Value({ id, kind: id, ...attributes })));
