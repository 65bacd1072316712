// CloudFront's viewer-request function (cloudfront-js-2.0) on the paths of the site. It answers 301 and 410 for pages that moved or are
// gone, from the key value store that the function redirects keeps (shared/edge/src/entry.rs has the keys and values). Each other
// request goes to the site as it came.
//
// It must not throw, whatever a viewer sends: CloudFront would answer 503.

import cf from 'cloudfront';
import crypto from 'crypto';

const store = cf.kvs();

const MAX_HOST_LENGTH = 253;

// The longest address of a record.
const MAX_ADDRESS_LENGTH = 2047;

// As many moves as http follows for one answer.
const MAX_HOPS = 5;

// The digits of a hash that a key has.
const DIGITS = 32;

const GONE = 'gone';

// A part of a path that is . or .., or begins with a dot: some readers resolve it.
const DOT_SEGMENT = /\/\./;

function isHost(host) {
    return /^[a-z0-9]/.test(host) && !/[^a-z0-9.-]/.test(host) && host.length <= MAX_HOST_LENGTH;
}

// The normal form of a path (shared/sitemap/src/loc.rs), or an empty text if it is not sure what others take the path for. Characters
// that each reader leaves as they are stay. Escapes of unreserved characters are decoded, the others are in upper case.
function normal(path) {
    if (!/^\/[A-Za-z0-9\-._~/!$&()*+,;=:@%]*$/.test(path) || /\n/.test(path)) {
        return '';
    }
    if (/%(?![0-9A-Fa-f]{2})/.test(path)) {
        return '';
    }
    const decoded = path.replace(/%[0-9A-Fa-f]{2}/g, (escape) => {
        const character = String.fromCharCode(parseInt(escape.slice(1), 16));
        return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase();
    });
    return DOT_SEGMENT.test(decoded) ? '' : decoded;
}

// The path of an address on a host, or an empty text if it is elsewhere, or not one that can be looked up.
function pathOn(host, address) {
    const origin = 'https://' + host;
    const page = address.split('#')[0].replace(/\?$/, ''); // an event does not tell an empty query from none
    if (!page.startsWith(origin + '/')) {
        return '';
    }
    return normal(page.slice(origin.length));
}

async function read(key) {
    try {
        return await store.get(key);
    } catch (error) {
        return ''; // there is no such key, or the store cannot be read
    }
}

// What became of a page, with its chain of moves joined; an empty text if it is there, or if its moves lead back to themselves.
async function departure(host, first) {
    const visited = [first];
    let found = '';
    while (visited.length <= MAX_HOPS) {
        const address = 'https://' + host + visited[visited.length - 1];
        const hash = crypto.createHash('sha256').update(address).digest('hex');
        const answer = await read(host + '/' + hash.slice(0, DIGITS));
        if (!answer) {
            return found;
        }
        if (answer === GONE) {
            return GONE;
        }
        found = answer;
        const next = pathOn(host, answer);
        if (!next) {
            return found;
        }
        if (visited.includes(next)) {
            return '';
        }
        visited.push(next);
    }
    return found;
}

function escaped(text) {
    return text.replace(/[&<>"']/g, (character) => '&#' + character.charCodeAt(0) + ';');
}

// As http answers (shared/front/src/departed.rs).
function answer(departure, seconds, isHead) {
    const target = escaped(departure);
    const isGone = departure === GONE;
    const title = isGone ? 'Gone' : 'Moved';
    const sentence = isGone
        ? 'This page is gone for good.'
        : 'This page has moved to <a href="' + target + '">' + target + '</a>.';
    const page =
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>' + title + '</title>\n<p>' + sentence + '</p>\n';
    const response = {
        statusCode: isGone ? 410 : 301,
        statusDescription: isGone ? 'Gone' : 'Moved Permanently',
        headers: {
            'content-type': { value: 'text/html; charset=utf-8' },
            'content-security-policy': { value: "default-src 'none'" },
            'x-content-type-options': { value: 'nosniff' },
            'cache-control': { value: 'public, max-age=' + seconds + ', s-maxage=' + seconds },
        },
    };
    if (isGone) {
        response.headers['x-robots-tag'] = { value: 'noindex, follow' };
    } else {
        response.headers.location = { value: departure };
    }
    if (!isHead) {
        response.body = page;
    }
    return response;
}

async function handler(event) {
    const request = event.request;
    const given = request.headers.host;

    // An address with a query is another page.
    const isPlain = (request.method === 'GET' || request.method === 'HEAD') && Object.keys(request.querystring).length === 0;
    if (!isPlain || !given || given.multiValue) {
        return request;
    }

    // In lower case, without a root dot and a port, as sites are named.
    const host = given.value.toLowerCase().replace(/\.?(:\d*)?$/, '');
    const path = isHost(host) && request.uri.length <= MAX_ADDRESS_LENGTH ? normal(request.uri) : '';
    if (!path) {
        return request;
    }
    const found = await departure(host, path);
    // The key of a site is there while its departures may be answered.
    const seconds = found && (await read(host));
    return seconds ? answer(found, seconds, request.method === 'HEAD') : request;
}
