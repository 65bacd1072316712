// CloudFront's viewer-request function (cloudfront-js-2.0) on the paths of sitemaps. It reduces a request to what its answer
// depends on: the host, and whether a person is to see the view. The cache's key has these two headers, the path and
// Accept-Encoding, and the origin gets nothing else of the viewer's.
//
// It must not throw, whatever a viewer sends: CloudFront would answer 503. A header is replaced or deleted whole, since a new
// value beside the viewer's multiValue would be ignored.

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

function handler(event) {
    const request = event.request;
    const headers = request.headers;

    // In lower case, without a root dot and a port: sites are named so, and other spellings would be kept once more each.
    const host = values(headers.host).join().toLowerCase().replace(/\.?(:\d*)?$/, '');
    if (host) {
        headers['x-waymark-host'] = { value: host };
    } else {
        delete headers['x-waymark-host']; // and then the origin knows no site
    }

    const seesView =
        values(headers['sec-fetch-dest'])[0] === 'document' &&
        !values(headers['user-agent']).some(isBot) &&
        !values(request.querystring.view).includes('xml');
    if (seesView) {
        headers['sec-fetch-dest'] = { value: 'document' };
    } else {
        delete headers['sec-fetch-dest'];
    }

    // What it said is said now. Nothing else in it changes an answer, so it must not split the cache.
    request.querystring = {};
    return request;
}
