// Shared access signatures, checked as Service Bus checks them: the signature covers the resource as it is
// written in the token, and the resource must be the one that is asked for, or above it.
'use strict';

const crypto = require('node:crypto');

/** What is wrong with a token for an entity; undefined if it is good. `until` is when it ends. */
function check(text, entity, keys, now) {
    const match = /^SharedAccessSignature (.*)$/.exec(text || '');
    if (!match) return { problem: 'not a shared access signature' };
    const fields = new Map(match[1].split('&').map((pair) => {
        const at = pair.indexOf('=');
        return [pair.slice(0, at), pair.slice(at + 1)];
    }));
    for (const name of ['sr', 'sig', 'se', 'skn']) {
        if (!fields.get(name)) return { problem: `the token has no ${name}` };
    }
    const key = keys[decodeURIComponent(fields.get('skn'))];
    if (key === undefined) return { problem: 'unknown key name' };
    const expected = crypto.createHmac('sha256', key).update(`${fields.get('sr')}\n${fields.get('se')}`).digest();
    const given = Buffer.from(decodeURIComponent(fields.get('sig')), 'base64');
    if (given.length !== expected.length || !crypto.timingSafeEqual(given, expected)) {
        return { problem: 'the signature does not match' };
    }
    const until = Number(fields.get('se')) * 1000;
    if (!(until > now)) return { problem: 'the token has expired' };
    const resource = new URL(decodeURIComponent(fields.get('sr')));
    const path = decodeURIComponent(resource.pathname).replace(/^\/+|\/+$/g, '').toLowerCase();
    const asked = entity.toLowerCase();
    if (path !== '' && asked !== path && !asked.startsWith(`${path}/`)) {
        return { problem: `the token is for '${path}'` };
    }
    return { until };
}

module.exports = { check };
