import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { Entity, PutItemCommand, Table, any, boolean, item, list, map, number, set, string } from "dynamodb-toolbox";

import { PAGES, PROBES, pages, probe } from "./content.mjs";

const documentClient = DynamoDBDocumentClient.from(new DynamoDBClient());
const entity = (table, name, attributes) => new Entity({
  name, table: new Table({ name: table, partitionKey: { name: "id", type: "string" }, documentClient }),
  schema: item({ id: string().key(), ...attributes }),
  // Its own name for the time of a change is "modified", which is the pages'.
  timestamps: { created: true, modified: { name: "written", savedAs: "_md" } },
});
const text = () => string().optional();
// It has no type for times: code of the user's turns them into texts.
const Page = entity(PAGES, "Page", {
  slug: string(), title: string(), state: string(), hidden: boolean().optional(), summary: text(), modified: text(), expires: text(),
  priority: number().optional(), position: number().optional(), tags: set(string()).optional(),
  images: list(map({ src: string(), caption: text() })).optional(), seo: map({ noindex: boolean() }).optional(),
});
const Value = entity(PROBES, "Value", {
  kind: string(), absent: text(), instant: any().optional(), yes: boolean().optional(), no: boolean().optional(), nothing: text(),
  blank: text(), words: set(string()).optional(), no_words: set(string()).optional(), steps: list(string()).optional(),
  share: number().optional(), count: number().optional(), nested: map({ title: string() }).optional(),
});
const put = (entity, values) => entity.build(PutItemCommand).item(values).send();

for (const { canonical, tags, ...page } of pages()) {
  const texts = { modified: page.modified?.toISOString(), expires: page.expires?.toISOString() };
  await put(Page, { id: page.slug, ...page, ...texts, ...(tags?.length && { tags: new Set(tags) }) });
}
await probe((id, attributes) => put(Value, { id, kind: id, ...attributes }));
