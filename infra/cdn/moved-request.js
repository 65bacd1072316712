// CloudFront's viewer-request function (cloudfront-js-2.0) on the paths of MovedPaths. The site is asked first, so the path stays as
// it is. Waymark is asked what the site does not find, and this header tells it of which host.
//
// It must not throw, whatever a viewer sends: CloudFront would answer 503.

// The name in place of a host that no site can have.
const NO_SITE = '_';
const MAX_HOST_LENGTH = 253;

function handler(event) {
    const request = event.request;
    const given = request.headers.host;
    const values = given ? (given.multiValue || [given]).map((one) => one.value) : [];

    // In lower case, without a root dot and a port, as sites are named.
    const host = values.join().toLowerCase().replace(/\.?(:\d*)?$/, '');
    const isHost = /^[a-z0-9]/.test(host) && !/[^a-z0-9.-]/.test(host) && host.length <= MAX_HOST_LENGTH;

    // It replaces what the viewer sent.
    request.headers['x-waymark-host'] = { value: isHost ? host : NO_SITE };
    return request;
}
