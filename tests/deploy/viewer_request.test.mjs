// The viewer-request functions, on events as CloudFront makes them.
//
//     node --test tests/deploy/viewer_request.test.mjs
//     NJS=/usr/bin/njs node --test tests/deploy/viewer_request.test.mjs
//
// The second runs each request in njs, too: a small engine without most of what node has grown, as CloudFront's is.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import vm from 'node:vm';

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const SOURCE = read('infra/cdn/viewer-request.js');
const MOVED = read('infra/cdn/moved-request.js');

// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html#limits-functions
const MAX_FUNCTION_BYTES = 10_240;
// The same page: the longest request, without its body, and the longest URL.
const MAX_REQUEST_BYTES = 20_480;
const MAX_URL_BYTES = 8_192;
const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';
const GOOGLEBOT = `Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/140.0.0.0 Safari/537.36`;
const HOST = 'www.example.com';
const PERSON = [['Host', HOST], ['User-Agent', CHROME], ['Sec-Fetch-Dest', 'document']];
const CRAWLER = [['Host', HOST], ['User-Agent', GOOGLEBOT], ['Accept-Encoding', 'gzip']];

/// Fields as CloudFront's events have them: the first value, and all of them if there are several.
function fields(pairs) {
  const found = {};
  for (const [name, value] of pairs) {
    const own = Object.hasOwn(found, name) ? found[name] : undefined;
    if (own) own.multiValue = [...(own.multiValue ?? [{ value: own.value }]), { value }];
    // `__proto__` is a name like any other in what JSON.parse makes.
    else Object.defineProperty(found, name, { value: { value }, enumerable: true });
  }
  return found;
}

function event(headers, { query = '', method = 'GET', uri = '/post-sitemap.xml' } = {}) {
  const pairs = query.split('&').filter((pair) => pair).map((pair) => {
    const [name, ...value] = pair.split('=');
    return [name, value.join('=')];
  });
  return {
    version: '1.0',
    context: {
      distributionDomainName: 'd111111abcdef8.cloudfront.net',
      distributionId: 'EDFDVBD6EXAMPLE',
      eventType: 'viewer-request',
      requestId: 'EXAMPLEntjQpEXAMPLE_SG5Z-EXAMPLEPmPfEXAMPLEu3EqEXAMPLE==',
    },
    viewer: { ip: '198.51.100.11' },
    request: {
      method,
      uri,
      querystring: fields(pairs),
      headers: fields(headers.map(([name, value]) => [name.toLowerCase(), value])),
      cookies: {},
    },
  };
}

// What shared/front reads instead of the path, and what it takes off the path again.
const [, SITE_HOST_HEADER] = read('shared/front/src/site_header.rs').match(/SITE_HOST_HEADER: &str = "([^"]+)"/);
const [, PREFIX] = read('shared/front/src/cdn_path.rs').match(/EDGE_PREFIX: &str = "([^"]+)"/);
const EDGE = new RegExp(`^${PREFIX}([^/]+)/(view|document)(/.*)$`);

const call = (json) => `JSON.stringify(handler(JSON.parse(${JSON.stringify(json)})))`;

/// The engines that run a function's source, and node's context of it.
function running(source) {
  const context = vm.createContext({});
  vm.runInContext(`'use strict';${source}`, context);
  const engines = { node: (json) => vm.runInContext(call(json), context, { timeout: 1000 }) };
  if (process.env.NJS) {
    // It logs no more than 2,048 bytes of a text.
    const log = (json) => `var said = ${call(json)}; for (var i = 0; i < said.length; i += 1000) console.log(said.slice(i, i + 1000));`;
    engines.njs = (json) => execFileSync(process.env.NJS, ['-c', `${source}\n${log(json)}`], { encoding: 'utf8', timeout: 60_000 }).replace(/\n/g, '');
  }
  return { context, engines };
}

const { context, engines } = running(SOURCE);

/// What becomes of a request: of what CloudFront would refuse, an error; else what the origin and the cache's key get.
function answered(headers, options, engine = engines.node) {
  const before = event(headers, options);
  const request = JSON.parse(engine(JSON.stringify(before)));
  const { uri, headers: { [SITE_HOST_HEADER]: _, ...kept }, ...rest } = before.request;
  assert.deepEqual(request, { ...rest, uri: request.uri, querystring: {}, headers: kept }, 'nothing else is changed');
  const [, host, kind, path] = request.uri.match(EDGE);
  assert.equal(path, options?.path ?? uri, 'behind the prefix the path is as it was');
  return { host, kind };
}

const person = { host: HOST, kind: 'view' };
const crawler = { host: HOST, kind: 'document' };
const nobody = { host: '_', kind: 'document' };

const without = (name, headers) => headers.filter(([other]) => other !== name);
const withHost = (...hosts) => [...without('Host', CRAWLER), ...hosts.map((host) => ['Host', host])];
const withAgent = (...agents) => [...without('User-Agent', PERSON), ...agents.map((agent) => ['User-Agent', agent])];
const withDest = (...dests) => [...without('Sec-Fetch-Dest', PERSON), ...dests.map((dest) => ['Sec-Fetch-Dest', dest])];

const CASES = [
  ['a person sees the view', PERSON, {}, person],
  ['a person without a User-Agent too', without('User-Agent', PERSON), {}, person],
  ['a crawler gets the document', CRAWLER, {}, crawler],
  ['so does who sends next to nothing', [['Host', HOST]], {}, crawler],
  ['names of headers may be in any case', [['HOST', HOST], ['SEC-fetch-DEST', 'document']], {}, person],

  ['a crawler with a browser gets the document', withAgent(GOOGLEBOT), {}, crawler],
  ['whatever the case', withAgent('BINGBOT'), {}, crawler],
  ['in any of its User-Agents', withAgent(CHROME, 'x', 'Baiduspider'), {}, crawler],
  ['browsers that say nothing of it are none', withAgent(CHROME, ''), {}, person],
  ['an agent that signs its requests too', [...PERSON, ['Signature-Agent', '"https://agent.example"']], {}, crawler],
  ['also if it says nothing else', [...PERSON, ['Signature-Agent', '']], {}, crawler],
  ['the script of the view gets the document', withDest('empty'), {}, crawler],
  ['an iframe too', withDest('iframe'), {}, crawler],
  ['the value is one word', withDest('document, empty'), {}, crawler],
  ['in lower case', withDest('Document'), {}, crawler],
  ['of several, the first counts', withDest('document', 'empty'), {}, person],
  ['also if it is another', withDest('empty', 'document'), {}, crawler],
  ['a browser takes HTML', [...PERSON, ['Accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8']], {}, person],
  ['in any case', [...PERSON, ['ACCEPT', 'TEXT/HTML']], {}, person],
  ['in any of its headers', [...PERSON, ['Accept', '*/*'], ['Accept', 'text/html']], {}, person],
  ['a program with the headers of a browser may take anything', [...PERSON, ['Accept', '*/*']], {}, crawler],
  ['or nothing', [...PERSON, ['Accept', '']], {}, crawler],

  ['?view=xml', PERSON, { query: 'view=xml' }, crawler],
  ['among others', PERSON, { query: 'page=2&view=xml&q=' }, crawler],
  ['said twice', PERSON, { query: 'view=html&view=xml' }, crawler],
  ['another view', PERSON, { query: 'view=html' }, person],
  ['no value', PERSON, { query: 'view' }, person],
  ['another name', PERSON, { query: 'xview=xml' }, person],
  ['another value', PERSON, { query: 'q=view=xml' }, person],
  ['no other query is left', CRAWLER, { query: 'a=1&b=2&a=3&utm_source=x' }, crawler],
  ['not one that is named as what objects have', PERSON, { query: '__proto__=a&constructor=b&view.value=xml' }, person],
  ['nor a thousand', CRAWLER, { query: Array.from({ length: 1000 }, (_, n) => `k${n}=v`).join('&') }, crawler],

  ['a host in any case', withHost('WWW.Example.COM'), {}, crawler],
  ['with a port', withHost(`${HOST}:443`), {}, crawler],
  ['with an empty one', withHost(`${HOST}:`), {}, crawler],
  ['with a root dot', withHost(`${HOST}.`), {}, crawler],
  ['with all of it', withHost('Www.Example.Com.:8443'), {}, crawler],
  ['no host, as HTTP/1.0 allows', without('Host', CRAWLER), {}, nobody],
  ['an empty one', withHost(''), {}, nobody],
  ['a port alone', withHost(':443'), {}, nobody],
  ['an address in brackets names no site', withHost('[2001:db8::1]:443'), {}, nobody],
  ['nor do two hosts', withHost(HOST, 'other.example'), {}, nobody],
  ...['../x', '..', '.', '../', 'a/b', 'a?b', 'a#b', 'a%2fb', 'a b', 'a_b', '_', '\u00e4', `${HOST}\n`, '', `${'a'.repeat(254)}`]
    .map((host) => [`nor does ${JSON.stringify(host).slice(0, 20)}`, withHost(host), {}, nobody]),
  ['the longest host does', withHost('a'.repeat(253)), {}, { ...crawler, host: 'a'.repeat(253) }],

  ...[PREFIX, `${PREFIX}other.example/document/post-sitemap.xml`, `${PREFIX}other.example/view/post-sitemap.xml`, '/', '//',
    '/.well-known/x', '/...', '/a..b', '/post-sitemap.xml/'].map((uri) => [`${uri} is prefixed`, CRAWLER, { uri }, crawler]),

  ['a viewer names no site', [...CRAWLER, ['X-Waymark-Host', 'other.example']], {}, crawler],
  ['not in two headers', [...CRAWLER, ['x-waymark-host', 'a.example'], ['X-WAYMARK-HOST', 'b.example']], {}, crawler],
  ['nor without a host', [...without('Host', CRAWLER), ['X-Waymark-Host', HOST]], {}, nobody],
  ['nor through a proxy', [...CRAWLER, ['X-Forwarded-Host', 'other.example'], ['Forwarded', 'host=other.example']], {}, crawler],
  ...['/..', '/.', '/../post-sitemap.xml', '/./post-sitemap.xml', '/%2e%2E/post-sitemap.xml', '/a/.%2e/post-sitemap.xml',
    '/../../other.example/view/post-sitemap.xml', '/a/..'].map((uri) => [`${uri} leads nowhere`, CRAWLER, { uri, path: '/' }, crawler]),
  ...['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'].map((method) => [method, PERSON, { method }, person]),
];

for (const [name, engine] of Object.entries(engines)) {
  test(`each request becomes what http answers by, in ${name}`, () => {
    for (const [what, headers, options, expected] of CASES) {
      assert.deepEqual(answered(headers, options, engine), expected, what);
    }
  });
}

for (const [name, engine] of Object.entries(running(MOVED).engines)) {
  test(`a request for the site names its host in a header, and is else as it was, in ${name}`, () => {
    for (const [what, headers, options, expected] of CASES) {
      const before = event(headers, options);
      const request = JSON.parse(engine(JSON.stringify(before)));
      const named = { ...before.request.headers, [SITE_HOST_HEADER]: { value: expected.host } };
      assert.deepEqual(request, { ...before.request, headers: named }, what);
    }
  });
}

test('a request of any length is reduced in no time', () => {
  const long = (head, unit) => head + unit.repeat((MAX_REQUEST_BYTES - head.length) / unit.length);
  const begun = process.cpuUsage();
  for (const unit of ['a', '.', ':', ':1', '.:', '1', 'bo', 'A', '\u00e4', '\u0130']) {
    assert.deepEqual(answered(withHost(long('x', unit) + 'x')), nobody);
    assert.deepEqual(answered(CRAWLER, { uri: long('/', unit) }), crawler);
    assert.deepEqual(answered(withAgent(long('x', unit))), person);
    assert.deepEqual(answered(withAgent(`${long('x', unit)}bot`)), crawler);
    assert.deepEqual(answered(withDest(long('document', unit))), crawler);
    assert.deepEqual(answered([...CRAWLER, ['X-Waymark-Host', long('x', unit)]]), crawler);
  }
  // Linear, these are milliseconds; a pattern that goes back over 20 KB again and again takes minutes.
  assert.ok(process.cpuUsage(begun).user < 5_000_000);
});

/// What shared/front/src/view.rs decides, from the request as it came.
function isView(headers, query) {
  const all = (name) => headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value);
  return all('sec-fetch-dest')[0] === 'document'
    && (!all('accept').length || all('accept').some((one) => one.toLowerCase().includes('text/html')))
    && !all('user-agent').some((agent) => BOTS.some((bot) => agent.toLowerCase().includes(bot)))
    && !query.split('&').includes(XML_QUERY);
}

const VIEW = read('shared/front/src/view.rs');
const BOTS = [...VIEW.match(/const BOTS: [^=]*= \[(.*?)\n\];/s)[1].matchAll(/^ +"([^"]+)",/gm)].map(([, bot]) => bot);
const XML_QUERY = VIEW.match(/const XML_QUERY: &str = "([^"]+)"/)[1];

test('the names of crawlers are those that http knows', () => {
  assert.ok(BOTS.length > 3);
  assert.equal(VIEW.match(/const BOTS: \[&str; (\d+)\]/)[1], String(BOTS.length));
  assert.deepEqual(JSON.parse(vm.runInContext('JSON.stringify(BOTS)', context)), BOTS);
  for (const bot of BOTS) assert.deepEqual(answered(withAgent(`Mozilla/5.0 (${bot.toUpperCase()})`)), crawler, bot);
});

test('a prefixed URL is hardly longer than the one that came', () => {
  const { host } = answered(withHost('a'.repeat(253)));
  assert.ok(`${PREFIX}${host}/document`.length < MAX_URL_BYTES / 20);
});

test('without the view, a person gets the document', () => {
  const without = vm.createContext({});
  const source = SOURCE.replace('const HAS_VIEW = true;\n', 'const HAS_VIEW = false;\n');
  assert.notEqual(source, SOURCE);
  vm.runInContext(source, without);
  const engine = (json) => vm.runInContext(call(json), without, { timeout: 1000 });
  for (const [what, headers, options, expected] of CASES) {
    assert.deepEqual(answered(headers, options, engine), { ...expected, kind: 'document' }, what);
  }
});

test('whoever sees the view here would see it without this function', () => {
  let state = 1;
  const draw = (values) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff; // C's rand(): the same requests in each run
    return values[(state >> 8) % values.length];
  };
  const seen = { view: 0, document: 0 };
  for (let n = 0; n < 4000; n += 1) {
    const headers = [['Host', HOST]];
    for (let m = draw([0, 1, 1, 2]); m > 0; m -= 1) headers.push(['Sec-Fetch-Dest', draw(['document', 'document', 'empty', 'Document', ' '])]);
    for (let m = draw([0, 1, 1, 3]); m > 0; m -= 1) headers.push(['User-Agent', draw([CHROME, CHROME, GOOGLEBOT, 'curl/8', 'SLURP', ''])]);
    for (let m = draw([0, 0, 1, 2]); m > 0; m -= 1) headers.push(['Accept', draw(['*/*', 'text/html', 'Text/HTML;q=0.9', 'text/xml', ''])]);
    const pairs = Array.from({ length: draw([0, 1, 2]) }, () => `${draw(['view', 'v', 'View'])}${draw(['=xml', '=XML', '=xml=', '=', ''])}`);
    const query = pairs.join(draw(['&', '&&']));
    const expected = isView(headers, query) ? person : crawler;
    assert.deepEqual(answered(headers, { query }), expected, JSON.stringify([headers, query]));
    seen[expected === person ? 'view' : 'document'] += 1;
  }
  assert.ok(seen.view > 400 && seen.document > 400, JSON.stringify(seen));
});

for (const source of [SOURCE, MOVED]) test('CloudFront takes the file as it is', () => {
  assert.ok(Buffer.byteLength(source) < MAX_FUNCTION_BYTES);
  // The template holds the same text: nothing of it may be taken for CloudFormation's or YAML's.
  assert.match(source, /^[\n -~]*\n$/);
  assert.doesNotMatch(source, /\$\{| $|\n\n$/m);
  // What the runtime does not have: https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/functions-javascript-runtime-20.html
  const code = source.replace(/ *\/\/.*/g, '');
  assert.match(code, /function handler\(event\)/);
  assert.doesNotMatch(code, /\b(import|export|class|of|eval|Function|require|setTimeout)\b|\bfetch\(|\?\.|\?\?/);
});
