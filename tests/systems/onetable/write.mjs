import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Table } from "dynamodb-onetable";

import { PAGES, PROBES, pages, probe } from "./content.mjs";

const client = new DynamoDBClient();
const model = (name, type, id, attributes) => new Table({
  client, name, partial: false,
  schema: {
    format: "onetable:1.1.0", version: "0.0.1", indexes: { primary: { hash: "pk", sort: "sk" } },
    models: { [type]: {
      pk: { type: String, value: `${type}#\${${id}}` }, sk: { type: String, value: `${type}#` }, [id]: { type: String, required: true },
      ...attributes,
    } },
  },
}).getModel(type);
const Page = model(PAGES, "Page", "slug", {
  title: { type: String }, state: { type: String }, hidden: { type: Boolean }, summary: { type: String }, canonical: { type: String },
  modified: { type: Date }, expires: { type: Date }, priority: { type: Number }, position: { type: Number }, tags: { type: Set },
  images: { type: Array }, seo: { type: Object, schema: { noindex: { type: Boolean } } },
});
const Value = model(PROBES, "Value", "kind", {
  absent: { type: String }, instant: { type: Date }, yes: { type: Boolean }, no: { type: Boolean }, nothing: { type: String },
  blank: { type: String }, words: { type: Set }, no_words: { type: Set }, steps: { type: Array }, share: { type: Number },
  count: { type: Number }, nested: { type: Object, schema: { title: { type: String } } },
});

for (const { tags, ...page } of pages()) {
  await Page.create({ ...page, ...(tags?.length && { tags: new Set(tags) }) }, { exists: null });
}
await probe((kind, attributes) => Value.create({ kind, ...attributes }, { exists: null }));
