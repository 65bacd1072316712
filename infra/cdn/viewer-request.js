// CloudFront's viewer-request function (cloudfront-js-2.0) on the paths of sitemaps. It puts before the viewer's path what the
// answer depends on: the host, and whether a person is to see the view. The cache's key has this path and Accept-Encoding.
// The origin gets nothing else of the viewer's, and takes the prefix off again (shared/front/src/cdn_path.rs).
//
// It must not throw, whatever a viewer sends: CloudFront would answer 503.

// The template says false where the view's files are not among the distribution's paths.
const HAS_VIEW = true;

const PREFIX = '/waymark-edge/';

// A part of a path that is . or .., also percent-encoded.
const DOT_SEGMENT = /\/(\.|%2e){1,2}(\/|$)/i;

// The name in place of a host that no site can have.
const NO_SITE = '_';
const MAX_HOST_LENGTH = 253;

// The names of crawlers, as shared/front knows them: User-Agent does not get as far as there.
const BOTS = ['bot', 'crawl', 'spider', 'slurp', 'google-', 'googleother', 'mediapartners'];

// All values of a header or a parameter of the query, which may be there once, several times or not at all.
function values(field) {
    if (!field) {
        return [];
    }
    return (field.multiValue || [field]).map((one) => one.value);
}

function isBot(agent) {
    const name = agent.toLowerCase();
    return BOTS.some((bot) => name.includes(bot));
}

// Whether a program takes HTML. Each browser says so when somebody opens an address; programs that imitate one may not.
function takesHtml(accept) {
    return !accept || values(accept).some((one) => one.toLowerCase().includes('text/html'));
}

// Whether a host can be a site's, and changes no path. Not by one pattern: to some engines $ is also before a last line break.
function isHost(host) {
    return /^[a-z0-9]/.test(host) && !/[^a-z0-9.-]/.test(host) && host.length <= MAX_HOST_LENGTH;
}

function handler(event) {
    const request = event.request;
    const headers = request.headers;

    // In lower case, without a root dot and a port: sites are named so, and other spellings would be kept once more each.
    const host = values(headers.host).join().toLowerCase().replace(/\.?(:\d*)?$/, '');
    const seesView =
        HAS_VIEW &&
        values(headers['sec-fetch-dest'])[0] === 'document' &&
        takesHtml(headers.accept) &&
        !headers['signature-agent'] && // an agent that signs its requests, with a browser's User-Agent
        !values(headers['user-agent']).some(isBot) &&
        !values(request.querystring.view).includes('xml');

    // Also before a path that begins so already: the origin takes off one prefix, and finds nothing under the second. A path
    // that would lead out of the prefix, should anybody resolve it, has no document either.
    const path = DOT_SEGMENT.test(request.uri) ? '/' : request.uri;
    request.uri = PREFIX + (isHost(host) ? host : NO_SITE) + (seesView ? '/view' : '/document') + path;

    // With this header the origin would not look at the path. No policy of ours hands it on, but another one may.
    delete headers['x-waymark-host'];

    // What the query said is said now. Nothing else in it changes an answer, so it must not split the cache.
    request.querystring = {};
    return request;
}
