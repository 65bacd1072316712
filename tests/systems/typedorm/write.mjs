import { createRequire } from "node:module";

import { PAGES, PROBES, pages, probe } from "./content.mjs";

// Node.js does not find the files that the packages' ES modules import.
const require = createRequire(import.meta.url);
require("reflect-metadata");
const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { Attribute, Entity, Table } = require("@typedorm/common");
const { createConnection, getEntityManager } = require("@typedorm/core");
const { DocumentClientV3 } = require("@typedorm/document-client");

// What TypeScript makes of `@Attribute() name: Type` in a class.
function model(type, name, id, attributes) {
  for (const [attribute, of] of Object.entries({ [id]: String, ...attributes })) {
    Reflect.defineMetadata("design:type", of, type.prototype, attribute);
    Attribute()(type.prototype, attribute);
  }
  const primaryKey = { partitionKey: `${name}#{{${id}}}`, sortKey: `${name}#` };
  Entity({ name, primaryKey })(type);
  return type;
}
class PageModel {}
class ValueModel {}
const Page = model(PageModel, "page", "slug", {
  title: String, state: String, hidden: Boolean, summary: String, canonical: String, modified: String, expires: String, priority: Number,
  position: Number, tags: Array, images: Array, seo: Object,
});
const Value = model(ValueModel, "value", "kind", {
  absent: String, instant: Date, yes: Boolean, no: Boolean, nothing: String, blank: String, words: Set, no_words: Set, steps: Array,
  share: Number, count: Number, nested: Object,
});
const documentClient = new DocumentClientV3(new DynamoDBClient());
for (const [name, entity] of [[PAGES, Page], [PROBES, Value]]) {
  const table = new Table({ name, partitionKey: "PK", sortKey: "SK" });
  createConnection({ name, table, entities: [entity], documentClient });
}
const put = (connection, entity, values) => getEntityManager(connection).create(Object.assign(new entity(), values));

// It refuses times: code of the user's turns them into texts.
for (const page of pages()) {
  await put(PAGES, Page, { ...page, modified: page.modified?.toISOString(), expires: page.expires?.toISOString() });
}
await probe((kind, attributes) => put(PROBES, Value, { kind, ...attributes }));
