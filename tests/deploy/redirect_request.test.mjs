// The viewer-request function of redirects, on events as CloudFront makes them, with a store in memory.
//
//     node --test tests/deploy/redirect_request.test.mjs
//     NJS=/usr/bin/njs node --test tests/deploy/redirect_request.test.mjs
//
// The second runs each request in njs, too. cdn_test.py compares the answers with those of http.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import vm from 'node:vm';

const SOURCE = readFileSync(new URL('../../infra/cdn/redirect-request.js', import.meta.url), 'utf8');
const IMPORTS = "import cf from 'cloudfront';\nimport crypto from 'crypto';\n";

// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html#limits-functions
const MAX_FUNCTION_BYTES = 10_240;
const MAX_REQUEST_BYTES = 20_480;
const SECONDS = 10_000;
const HOST = 'www.example.com';
const MAX_HOPS = 5;

assert.equal(SOURCE.split(IMPORTS).length, 2, 'the imports are as this test replaces them');

/// A module `cloudfront` whose store has these pairs. As CloudFront's, it throws for a key that it does not have.
const cloudfront = (pairs) => `
  var reads = [];
  var cf = { kvs: () => ({ get: async (key) => {
    reads.push(key);
    var pairs = ${JSON.stringify(pairs)};
    if (!Object.keys(pairs).includes(key)) throw new Error('KeyNotFound');
    return pairs[key];
  } }) };`;

const code = (pairs) => SOURCE.replace(IMPORTS, cloudfront(pairs));

const engines = {
  node: async (pairs, event) => {
    const context = vm.createContext({ crypto });
    vm.runInContext(`'use strict';${code(pairs)}`, context);
    const call = `handler(JSON.parse(${JSON.stringify(JSON.stringify(event))})).then((is) => JSON.stringify({ is, reads }))`;
    return JSON.parse(await vm.runInContext(call, context, { timeout: SECONDS }));
  },
};
if (process.env.NJS) {
  engines.njs = async (pairs, event) => {
    // It logs no more than 2,048 bytes of a text.
    const script = `var crypto = require('crypto');${code(pairs)}
      handler(JSON.parse(${JSON.stringify(JSON.stringify(event))})).then((is) => {
        var said = JSON.stringify({ is: is, reads: reads });
        for (var i = 0; i < said.length; i += 1000) console.log(said.slice(i, i + 1000));
      });`;
    return JSON.parse(execFileSync(process.env.NJS, ['-c', script], { encoding: 'utf8', timeout: SECONDS }).replace(/\n/g, ''));
  };
}

function request(uri, { method = 'GET', host = HOST, query = {}, headers = {} } = {}) {
  const given = host === null ? {} : { host: { value: host } };
  return { version: '1.0', request: { method, uri, querystring: query, headers: { ...given, ...headers }, cookies: {} } };
}

const key = (path, host = HOST) => `${host}/${crypto.createHash('sha256').update(`https://${host}${path}`).digest('hex').slice(0, 32)}`;
const url = (path) => `https://${HOST}${path}`;

const PAIRS = {
  [HOST]: '3600',
  [key('/old/')]: url('/new/'),
  [key('/gone')]: 'gone',
  [key('/away')]: 'https://other.example/x?a=1&b="2"',
  [key('/a')]: url('/b#lost'),
  [key('/b')]: url('/%63'),
  [key('/c')]: url('/d#part'),
  [key('/to-gone')]: url('/gone'),
  [key('/to-query')]: url('/old/?x=1'),
  [key('/loop')]: url('/loop2'),
  [key('/loop2')]: url('/loop#x'),
  [key('/self')]: url('/self?'),
  [key('/~user')]: url('/user'),
  [key('/caf%C3%A9')]: url('/coffee'),
  [key('/closed', 'closed.example')]: url('/new/'),
  ...Object.fromEntries(Array.from({ length: MAX_HOPS + 2 }, (_, n) => [key(`/${n}`), url(`/${n + 1}`)])),
};

const moved = (to) => [301, to];
const SITES = 'the site';

const CASES = [
  ['a moved page', '/old/', {}, moved(url('/new/'))],
  ['HEAD', '/old/', { method: 'HEAD' }, moved(url('/new/'))],
  ['a page that is gone', '/gone', {}, [410]],
  ['a page on another site', '/away', {}, moved('https://other.example/x?a=1&b="2"')],
  ['a chain ends at its last target', '/a', {}, moved(url('/d#part'))],
  ['from its middle too', '/b', {}, moved(url('/d#part'))],
  ['a chain to a page that is gone', '/to-gone', {}, [410]],
  ['a chain ends where an address cannot be looked up', '/to-query', {}, moved(url('/old/?x=1'))],
  ['as many moves as http follows', '/0', {}, moved(url(`/${MAX_HOPS}`))],
  ['one less', '/2', {}, moved(url(`/${MAX_HOPS + 2}`))],
  ['moves that lead back to themselves', '/loop', {}, SITES],
  ['or to themselves with an empty query', '/self', {}, SITES],
  ['an escape of an unreserved character', '/%7euser', {}, moved(url('/user'))],
  ['another in lower case', '/caf%c3%a9', {}, moved(url('/coffee'))],

  ['a page that is there', '/new/', {}, SITES],
  ['the path without its slash', '/old', {}, SITES],
  ['a path in another case', '/OLD/', {}, SITES],
  ['a query', '/old/', { query: { x: { value: '1' } } }, SITES],
  ...['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'].map((method) => [method, '/old/', { method }, SITES]),
  ['a site whose departures may not be answered', '/closed', { host: 'closed.example' }, SITES],
  ['another host', '/old/', { host: 'other.example' }, SITES],
  ['no host', '/old/', { host: null }, SITES],
  ['two hosts', '/old/', { headers: { host: { value: HOST, multiValue: [{ value: HOST }, { value: 'x' }] } } }, SITES],
  ['a host in any case, with a root dot and a port', '/old/', { host: 'WWW.Example.com.:443' }, moved(url('/new/'))],
  ...['', ':443', '[::1]', 'a/b', 'a b', `${HOST}\n`, 'a'.repeat(254), '__proto__'].map((host) => [JSON.stringify(host).slice(0, 20), '/old/', { host }, SITES]),
  // Paths of which it is not sure what others take them for.
  ...['/./old/', '/x/../old/', '/%2e/old/', '/x/%2E%2e/old/', '/old/\n', '/old\u00e4', '/old%', '/old/%', '/old%0', '/old%zz', '/old/%2', "/ol'd",
    '/old\\', '/old/?', '/old|', '/%6Fld', '/old%2F', '', '*', 'old/', '//old/', '/__proto__', '/constructor']
    .map((uri) => [JSON.stringify(uri), uri, {}, SITES]),
  ['an escaped letter', '/%6Fld/', {}, moved(url('/new/'))],
];

for (const [name, engine] of Object.entries(engines)) {
  test(`pages that departed are answered, and the site is asked for all others, in ${name}`, async () => {
    for (const [what, uri, options, expected] of CASES) {
      const event = request(uri, options);
      const { is } = await engine(PAIRS, event);
      if (expected === SITES) {
        assert.deepEqual(is, event.request, `${what}: as it came`);
        continue;
      }
      const [status, target] = expected;
      const { 'content-type': type, location, 'x-robots-tag': robots, 'cache-control': cache } = is.headers;
      assert.deepEqual([is.statusCode, location?.value], [status, target], what);
      assert.equal(cache.value, 'public, max-age=3600, s-maxage=3600');
      assert.equal(type.value, 'text/html; charset=utf-8');
      assert.equal(robots?.value, status === 410 ? 'noindex, follow' : undefined);
      assert.equal(typeof is.body, options.method === 'HEAD' ? 'undefined' : 'string');
      assert.ok(!is.body?.includes('b="2"'), 'the body has no text that ends an attribute');
    }
  });

  test(`a page that is there costs one read, and a request that cannot be answered none, in ${name}`, async () => {
    assert.deepEqual((await engine(PAIRS, request('/new/'))).reads, [key('/new/')]);
    assert.deepEqual((await engine(PAIRS, request('/old/'))).reads, [key('/old/'), key('/new/'), HOST]);
    for (const options of [{ method: 'POST' }, { query: { a: { value: '' } } }, { host: 'a b' }]) {
      assert.deepEqual((await engine(PAIRS, request('/old/', options))).reads, []);
    }
  });
}

test('a store that cannot be read leaves everything to the site', async () => {
  const event = request('/old/');
  assert.deepEqual((await engines.node({}, event)).is, event.request);
});

test('a request of any length is handled in no time', async () => {
  const begun = process.cpuUsage();
  for (const unit of ['a', '/', '.', '%', '%4', '%41', '%2F', '/.', '?', '\u00e4']) {
    const long = `/${unit.repeat(MAX_REQUEST_BYTES / unit.length)}`;
    for (const uri of [long, long.slice(0, 2000), long.slice(0, 2047)]) {
      const event = request(uri);
      assert.deepEqual((await engines.node(PAIRS, event)).is, event.request);
    }
    const event = request('/old/', { host: unit.repeat(MAX_REQUEST_BYTES / unit.length) });
    assert.deepEqual((await engines.node(PAIRS, event)).is, event.request);
  }
  assert.ok(process.cpuUsage(begun).user < 5_000_000);
});

test('CloudFront takes the file as it is', () => {
  assert.ok(Buffer.byteLength(SOURCE) < MAX_FUNCTION_BYTES);
  // The template holds the same text: nothing of it may be taken for CloudFormation's or YAML's.
  assert.match(SOURCE, /^[\n -~]*\n$/);
  assert.doesNotMatch(SOURCE, /\$\{| $|\n\n$/m);
  const rest = SOURCE.replace(IMPORTS, '').replace(/ *\/\/.*/g, '');
  assert.match(rest, /async function handler\(event\)/);
  // What the runtime does not have, and chains of promises, which take its memory:
  // https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/functions-custom-methods.html
  assert.doesNotMatch(rest, /\b(import|export|class|of|eval|Function|require|setTimeout|Promise)\b|\bfetch\(|\?\.|\?\?|\.then\(/);
});
