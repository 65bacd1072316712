// Prints the addresses that sitemapper finds in sitemaps, one JSON list for all of them.
// node sitemapper.mjs FOLDER URL... with the packages in FOLDER/node_modules
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, ...urls] = process.argv.slice(2);
const installed = createRequire(pathToFileURL(`${folder}/`));
const load = async (name) => import(pathToFileURL(installed.resolve(name)));
const { default: Sitemapper } = await load('sitemapper');
const { HttpsProxyAgent } = (await load('hpagent')).default;

const agent = new HttpsProxyAgent({ proxy: process.env.HTTPS_PROXY, keepAlive: true });
const sitemapper = new Sitemapper({ proxyAgent: { https: agent } });
const found = [];
for (const url of urls) {
  const { sites, errors } = await sitemapper.fetch(url);
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  found.push(...sites);
}
// Ended once it is written: a pipe takes 64 KiB at a time.
process.stdout.write(JSON.stringify(found), () => process.exit());
