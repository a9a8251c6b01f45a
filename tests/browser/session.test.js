// Sessions in a real Chromium: signing in with a token and through a provider, what pages of others can do with the session
// (nothing), and signing out.
'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const test = require('node:test');
const { Browser, createToken, freePort, punctual, serve } = require('./chromium.js');

const VERSION = 'api-version=2026-11-01';
const COLLECTION = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c';
const SESSION_COOKIE = '__Host-punctual-session';

/**
 * A server behind a proxy that remembers what came through it: method, path, where it came from by the browser's word, whether
 * there was the cookie of a session, and the status of the answer.
 */
async function watched(context, { configure } = {}) {
  const behind = await freePort();
  const seen = [];
  const proxy = await serve((request, response) => {
    const passed = http.request({ host: '127.0.0.1', port: behind, path: request.url, method: request.method, headers: request.headers });
    passed.on('error', () => response.writeHead(502).end());
    passed.on('response', (answer) => {
      seen.push({
        method: request.method,
        path: request.url.split('?')[0],
        site: request.headers['sec-fetch-site'],
        cookie: (request.headers.cookie ?? '').includes(SESSION_COOKIE),
        status: answer.statusCode,
      });
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  });
  context.after(() => { proxy.closeAllConnections(); proxy.close(); });
  const { port } = proxy.address();
  const server = { port, seen, url: `http://localhost:${port}` };
  let options;
  await punctual(context, behind, {}, {
    prepare: (data) => {
      server.token = createToken(data);
      options = configure?.(data, server) ?? [];
    },
    options: () => options,
  });
  return server;
}

/** What our own page does: asks for something, and gets the status and what was answered. */
function ask(tab, method, target, body) {
  const headers = { 'content-type': 'application/json', 'x-punctual-page': '1' };
  const options = JSON.stringify({ method, headers, body: body && JSON.stringify(body) });
  return tab.run(`fetch(${JSON.stringify(target)}, ${options}).then(async (answer) =>
    ({ status: answer.status, body: await answer.json().catch(() => null) }))`);
}

/** A tab on a page of ours, signed in. */
async function signedIn(browser, server, host = 'localhost') {
  const tab = await browser.tab();
  await tab.go(`http://${host}:${server.port}/healthz`);
  const { status, body } = await ask(tab, 'POST', `/session?${VERSION}`, { token: server.token });
  assert.strictEqual(status, 201, JSON.stringify(body));
  return tab;
}

/** A web server of somebody else that answers everything with one page. */
async function elsewhere(context, page) {
  const server = await serve((request, response) => {
    response.setHeader('content-type', 'text/html').end(request.url === '/' ? page : '');
  });
  context.after(() => { server.closeAllConnections(); server.close(); });
  return server.address().port;
}

test('somebody signs in with a token, works and signs out', { timeout: 120000 }, async (context) => {
  const server = await watched(context);
  const browser = new Browser(context);
  for (const host of ['localhost', '127.0.0.1']) {
    const tab = await signedIn(browser, server, host);
    const url = `http://${host}:${server.port}/`;
    const [cookie] = await tab.cookies(url);
    assert.deepStrictEqual(
      [cookie.name, cookie.domain, cookie.path, cookie.httpOnly, cookie.secure, cookie.sameSite, cookie.session],
      [SESSION_COOKIE, host, '/', true, true, 'Strict', true],
    );
    assert.strictEqual(await tab.run('document.cookie'), '', 'no script sees it');
    const me = await ask(tab, 'GET', `/me?${VERSION}`);
    assert.deepStrictEqual([me.status, me.body.caller.name], [200, 'admin']);
    assert.ok(me.body.session.id);
    const put = await ask(tab, 'PUT', `${COLLECTION}?${VERSION}`, { location: 'West US' });
    assert.strictEqual(put.status, 201);
    // A script of our own page that forgets the header gives no orders.
    const bare = await tab.run(`fetch('${COLLECTION}/disable?${VERSION}', {method: 'POST'}).then((answer) => answer.status)`);
    assert.strictEqual(bare, 403);
    // Somebody writes an address of the API.
    await tab.go(`${url}me?${VERSION}`);
    assert.match(await tab.run('document.body.innerText'), /"admin"/);

    assert.strictEqual((await ask(tab, 'DELETE', `/session?${VERSION}`)).status, 200);
    assert.deepStrictEqual(await tab.cookies(url), []);
    assert.strictEqual((await ask(tab, 'GET', `/me?${VERSION}`)).status, 401);
  }
});

/** All that a hostile page tries: orders by scripts and forms, reading by scripts, images and frames, and being followed. */
function hostilePage(target) {
  const order = `${target}${COLLECTION}/disable?${VERSION}`;
  return `<form method="post" action="${order}"></form><script>
    const quietly = (promise) => promise.catch(() => {});
    const frame = (url) => new Promise((resolve) => {
      const made = document.createElement('iframe');
      made.onload = made.onerror = resolve;
      made.src = url;
      document.body.append(made);
    });
    const image = (url) => new Promise((resolve) => {
      const made = new Image();
      made.onload = made.onerror = resolve;
      made.src = url;
    });
    async function tryAll() {
      const credentials = 'include';
      await quietly(fetch('${order}', {method: 'POST', mode: 'no-cors', credentials}));
      await quietly(fetch('${order}', {method: 'POST', credentials, headers: {'x-punctual-page': '1'}}));
      await quietly(fetch('${target}/session?${VERSION}', {method: 'DELETE', credentials}));
      await quietly(fetch('${target}/me?${VERSION}', {mode: 'no-cors', credentials}));
      const read = await fetch('${target}/me?${VERSION}', {credentials}).then((answer) => answer.text(), () => 'nothing');
      await image('${target}/me?${VERSION}');
      await frame('${target}/me?${VERSION}');
      return read;
    }
  </script>`;
}

for (const [name, host, site, carries] of [
  ['a page of another site does not even get the cookie sent', 'evil.test', 'cross-site', false],
  // Cookies know no ports: this page counts as the same site, so that only what the server checks is left.
  ['a page on another port gets the cookie sent and is refused', 'localhost', 'same-site', true],
]) {
  test(name, { timeout: 120000 }, async (context) => {
    const server = await watched(context);
    const browser = new Browser(context);
    const own = await signedIn(browser, server);
    assert.strictEqual((await ask(own, 'PUT', `${COLLECTION}?${VERSION}`, { location: 'West US' })).status, 201);

    const hostile = await browser.tab();
    const port = await elsewhere(context, hostilePage(server.url));
    server.seen.length = 0;
    await hostile.go(`http://${host}:${port}/`);
    assert.strictEqual(await hostile.run('tryAll()'), 'nothing');
    // It is left by its form, and by a link.
    let left = hostile.loaded((url) => url.startsWith(server.url));
    await hostile.run('document.forms[0].submit()');
    await left;
    await hostile.go(`http://${host}:${port}/`);
    left = hostile.loaded((url) => url.startsWith(server.url));
    await hostile.run(`location.href = '${server.url}/me?${VERSION}'; undefined`);
    await left;
    assert.doesNotMatch(await hostile.run('document.body.innerText'), /admin/);

    const tried = server.seen.filter((request) => request.site === site);
    const kinds = new Set(tried.map((request) => `${request.method} ${request.path}`));
    for (const kind of [`POST ${COLLECTION}/disable`, 'GET /me']) assert.ok(kinds.has(kind), [...kinds].join());
    assert.ok(tried.filter((request) => request.path === '/me').length >= 4, 'by script, image, frame and link');
    assert.ok(tried.filter((request) => request.method === 'POST').length >= 2, 'by script and by form');
    for (const request of tried) {
      assert.ok([401, 403, 405].includes(request.status), JSON.stringify(request));
    }
    assert.strictEqual(tried.some((request) => request.cookie), carries, JSON.stringify(tried));
    if (carries) {
      const orders = tried.filter((request) => request.cookie);
      assert.ok(orders.every((request) => request.status === 403), JSON.stringify(orders));
    }
    // Nothing became of it.
    const collection = await ask(own, 'GET', `${COLLECTION}?${VERSION}`);
    assert.deepStrictEqual([collection.status, collection.body.properties.state], [200, 'Enabled']);
  });
}

/** A provider that knows one person and asks nothing. */
async function provider(context) {
  const { privateKey, publicKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const sign = (claims) => {
    const signed = `${encode({ alg: 'ES256', kid: '1', typ: 'JWT' })}.${encode(claims)}`;
    const signature = crypto.sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  };
  const codes = new Map();
  let issuer;
  const answers = {
    '/.well-known/openid-configuration': () => ({
      issuer, jwks_uri: `${issuer}/keys`, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token`,
    }),
    '/keys': () => ({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', use: 'sig', alg: 'ES256' }] }),
    '/token': (form) => {
      const asked = codes.get(form.get('code'));
      codes.delete(form.get('code'));
      const challenge = crypto.createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
      if (asked?.get('code_challenge') !== challenge) return { error: 'invalid_grant' };
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, aud: 'web', sub: 'u-1', name: 'Zoë', nonce: asked.get('nonce'), iat: now, exp: now + 60 };
      return { id_token: sign(claims), token_type: 'Bearer' };
    },
  };
  const server = await serve((request, response) => {
    const url = new URL(request.url, issuer);
    if (url.pathname === '/auth') {
      const code = crypto.randomUUID();
      codes.set(code, url.searchParams);
      const back = new URL(url.searchParams.get('redirect_uri'));
      back.searchParams.set('code', code);
      back.searchParams.set('state', url.searchParams.get('state'));
      response.writeHead(303, { location: back.href }).end();
      return;
    }
    let text = '';
    request.on('data', (piece) => { text += piece; });
    request.on('end', () => {
      const answer = answers[url.pathname]?.(new URLSearchParams(text)) ?? {};
      response.writeHead(answer.error ? 400 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  context.after(() => { server.closeAllConnections(); server.close(); });
  issuer = `http://127.0.0.1:${server.address().port}`;
  return issuer;
}

test('somebody signs in through a provider and goes on by themselves', { timeout: 120000 }, async (context) => {
  const issuer = await provider(context);
  const server = await watched(context, {
    configure: (data, { url }) => {
      const file = path.join(data, '..', `${path.basename(data)}.toml`);
      fs.writeFileSync(file, `[server]
public_url = "${url}"

[[auth.issuers]]
issuer = "${issuer}"
audience = "api"
client_id = "web"

[[auth.issuers.rules]]
claim = "sub"
value = "u-1"
role = "reader"
scope = "/"
`);
      context.after(() => fs.rmSync(file));
      return ['--config', file];
    },
  });
  const browser = new Browser(context);
  const tab = await browser.tab();
  await tab.go(`${server.url}/healthz`);
  const ways = await ask(tab, 'GET', `/session/ways?${VERSION}`);
  assert.deepStrictEqual(ways.body.openId.map((way) => way.label), ['127.0.0.1']);
  // A link of our page: to the provider, which is another site, back, and on.
  const target = encodeURIComponent(`/me?${VERSION}`);
  const there = tab.loaded((url) => url.startsWith(`${server.url}/me`));
  await tab.run(`location.href = ${JSON.stringify(ways.body.openId[0].url)} + '&return=${target}'; undefined`);
  await there;
  const me = JSON.parse(await tab.run('document.body.innerText'));
  assert.deepStrictEqual(me.caller, { id: 'u-1', name: 'Zoë', kind: 'openid' });
  const callback = server.seen.find((request) => request.path === '/session/callback');
  assert.deepStrictEqual([callback.status, callback.site], [200, 'cross-site']);
  const last = server.seen.findLast((request) => request.path === '/me');
  assert.deepStrictEqual([last.cookie, last.site], [true, 'same-origin'], 'the Strict cookie comes along from our own page');
  const names = (await tab.cookies(server.url)).map((cookie) => cookie.name);
  assert.deepStrictEqual(names, [SESSION_COOKIE], 'that of the sign-in is gone');
  // The way back leads to a page whose sign-in is over, and harms nobody.
  const again = await tab.run(`fetch('/session/callback?code=x&state=y').then((answer) => answer.status)`);
  assert.strictEqual(again, 400);
  assert.strictEqual((await ask(tab, 'GET', `/me?${VERSION}`)).status, 200);
});
