import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import mapper from "@nova-odm/mapper";

import { PAGES, PROBES, pages, probe } from "./content.mjs";

const { DataMapper, DynamoDbSchema, DynamoDbTable } = mapper;
const client = new DataMapper({ client: new DynamoDBClient() });

function model(table, attributes) {
  class Model {}
  Object.defineProperties(Model.prototype, {
    [DynamoDbTable]: { value: table },
    [DynamoDbSchema]: { value: { id: { type: "String", keyType: "HASH" }, ...attributes } },
  });
  return Model;
}
const text = { type: "String" }, flag = { type: "Boolean" }, time = { type: "Date" }, number = { type: "Number" };
const words = { type: "Set", memberType: "String" };
const Page = model(PAGES, {
  slug: text, title: text, state: text, hidden: flag, summary: text, canonical: text, modified: time, expires: time, priority: number,
  position: number, tags: words, images: { type: "List", memberType: { type: "Document", members: { src: text, caption: text } } },
  seo: { type: "Document", members: { noindex: flag } },
});
const Value = model(PROBES, {
  kind: text, absent: text, instant: time, yes: flag, no: flag, nothing: text, blank: text, words, no_words: words,
  steps: { type: "List", memberType: text }, share: number, count: number, nested: { type: "Document", members: { title: text } },
});
const put = (model, values) => client.put(Object.assign(new model(), values));

for (const { canonical, ...page } of pages()) {
  await put(Page, { id: page.slug, ...page, ...(page.tags && { tags: new Set(page.tags) }) });
}
await probe((id, attributes) => put(Value, { id, kind: id, ...attributes }));
