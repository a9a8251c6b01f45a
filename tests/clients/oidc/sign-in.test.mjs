// Signing in through a real OpenID provider: authorization code with PKCE, from the first link to the session.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { after, before } from 'node:test';

const { default: Provider } = await import(process.env.PUNCTUAL_OIDC_PROVIDER);

const VERSION = 'api-version=2026-11-01';
const CLIENT_SECRET = 'c4n4ry-client-secret';
const folder = mkdtempSync(join(tmpdir(), 'punctual-sign-in-'));
const log = join(folder, 'server.log');
/** What must be in no log and in no file. */
const secrets = new Set([CLIENT_SECRET, 'c4n4ry']);
let answer; // what the provider does with a request
let issuer, base, punctual;
const front = createServer((request, response) => answer(request, response));

function provide() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'ES256' }] },
    clients: [
      {
        client_id: 'web',
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${base}/session/callback`],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    // Whoever signs in as ops-… is in the group ops.
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: `name of ${id}`, groups: [id.split('-')[0]] }) }),
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    ttl: { IdToken: 60, Interaction: 600, Session: 600, Grant: 600 },
  });
  answer = provider.callback();
}

/** A browser without scripts: it keeps cookies, follows redirects, and fills in forms. */
class Browser {
  jar = new Map();

  async request(url, options = {}) {
    const { origin } = new URL(url);
    const cookies = [...(this.jar.get(origin) ?? new Map())].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { ...options, redirect: 'manual', headers: { ...options.headers, cookie: cookies } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]*)=([^;]*)/.exec(line);
      if (!this.jar.has(origin)) this.jar.set(origin, new Map());
      if (value) this.jar.get(origin).set(name, value);
      else this.jar.get(origin).delete(name);
      if (origin === base && value) secrets.add(value);
    }
    return response;
  }

  /** Goes on until it comes back to us: the answer there. `user` is who signs in; without one it is called off. */
  async signIn(user, begin = `${base}/session/openid`) {
    let url = begin;
    let options = {};
    for (let step = 0; step < 20; step += 1) {
      const response = await this.request(url, options);
      options = {};
      const location = response.headers.get('location');
      if (location) {
        url = new URL(location, url).href;
        const code = new URL(url).searchParams.get('code');
        if (code) secrets.add(code);
        this.last = url;
        continue;
      }
      const text = await response.text();
      if (url.startsWith(base)) return { status: response.status, text, headers: response.headers };
      if (!user) {
        url = `${url}/abort`;
        continue;
      }
      assert.equal(response.status, 200, text);
      const [, action] = /<form[^>]* action="([^"]*)"/.exec(text);
      const [, prompt] = /name="prompt" value="([^"]*)"/.exec(text);
      options = { method: 'POST', body: new URLSearchParams({ prompt, login: user, password: 'c4n4ry' }) };
      url = new URL(action, url).href;
    }
    throw new Error(`it goes on and on: ${url}`);
  }

  async me() {
    const response = await this.request(`${base}/me?${VERSION}`, { headers: { 'sec-fetch-site': 'same-origin' } });
    return { status: response.status, body: await response.json() };
  }

  get session() {
    return this.jar.get(base)?.get('__Host-punctual-session');
  }
}

before(async () => {
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  issuer = `http://127.0.0.1:${front.address().port}`;
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address();
  free.close();
  await once(free, 'close');
  base = `http://localhost:${port}`;
  provide();
  const config = join(folder, 'punctual.toml');
  writeFileSync(
    config,
    `[server]
public_url = "${base}"

[[auth.issuers]]
issuer = "${issuer}"
audience = "punctual"
client_id = "web"
client_secret_env = "WEB_SECRET"
scopes = ["openid", "profile", "groups"]
label = "Team"

[[auth.issuers.rules]]
claim = "groups"
value = "ops"
role = "contributor"
scope = "/subscriptions/s1"

[limits]
sign_in_failures_per_minute = 0
`,
  );
  const options = ['serve', '--listen', `127.0.0.1:${port}`, '--role', 'api', '--data', join(folder, 'data'), '--config', config];
  punctual = spawn(process.env.PUNCTUAL_BINARY, options, {
    env: { ...process.env, WEB_SECRET: CLIENT_SECRET, PUNCTUAL_LOG__LEVEL: 'trace' },
    stdio: ['ignore', 'pipe', openSync(log, 'w')],
  });
  for await (const line of createInterface({ input: punctual.stdout })) {
    if (line.includes('listens on')) break;
  }
});

after(async () => {
  if (punctual.exitCode === null && punctual.signalCode === null) {
    punctual.kill();
    await once(punctual, 'exit');
  }
  front.closeAllConnections();
  front.close();
  rmSync(folder, { recursive: true });
});

test('somebody signs in, may what the rules say, and signs out', async () => {
  const browser = new Browser();
  const answered = await browser.signIn('ops-zoe', `${base}/session/openid?return=%2Fjobs`);
  assert.equal(answered.status, 200, answered.text);
  assert.match(answered.text, /content="0; url=\/jobs"/);
  const me = await browser.me();
  assert.deepEqual(me.body.caller, { id: 'ops-zoe', name: 'name of ops-zoe', kind: 'openid' });
  assert.deepEqual(me.body.grants, [{ role: 'contributor', scope: '/subscriptions/s1' }]);
  const path = '/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections/c';
  const headers = { 'sec-fetch-site': 'same-origin', 'x-punctual-page': '1' };
  const put = await browser.request(`${base}${path}?${VERSION}`, { method: 'PUT', headers, body: '{"location": "westus"}' });
  assert.equal(put.status, 201);
  const { session } = browser;
  const out = await browser.request(`${base}/session?${VERSION}`, { method: 'DELETE', headers });
  assert.equal(out.status, 200);
  assert.equal(browser.session, undefined);
  browser.jar.get(base).set('__Host-punctual-session', session);
  assert.equal((await browser.me()).status, 401);
});

test('a code is good once, and in the browser that began', async () => {
  const browser = new Browser();
  // Stops before it comes back.
  const kept = new Map();
  const original = browser.request.bind(browser);
  browser.request = async (url, options) => {
    if (!url.startsWith(`${base}/session/callback`)) return original(url, options);
    kept.set('url', url);
    kept.set('login', browser.jar.get(base).get('__Host-punctual-login'));
    return original(url, options);
  };
  assert.equal((await browser.signIn('ops-zoe')).status, 200);
  const refused = async (setUp, part) => {
    const other = new Browser();
    await setUp(other);
    const response = await other.request(kept.get('url'));
    const text = await response.text();
    assert.equal(response.status, 400, text);
    assert.match(text, part);
    assert.equal(other.session, undefined);
  };
  await refused(() => {}, /No sign-in is under way/);
  await refused((other) => other.jar.set(base, new Map([['__Host-punctual-login', kept.get('login')]])), /come back already/);
  await refused((other) => other.request(`${base}/session/openid`), /another sign-in/);
  // The same code in a sign-in of one's own: the provider refuses it.
  const thief = new Browser();
  const begun = await thief.request(`${base}/session/openid`);
  const own = new URL(begun.headers.get('location')).searchParams.get('state');
  const url = new URL(kept.get('url'));
  url.searchParams.set('state', own);
  const response = await thief.request(url.href);
  const text = await response.text();
  assert.equal(response.status, 400, text);
  assert.match(text, /does not take its code back.*invalid_grant/);
});

test('somebody whom no rule knows is told so, and somebody who calls it off too', async () => {
  const stranger = await new Browser().signIn('dev-max');
  assert.equal(stranger.status, 403);
  assert.match(stranger.text, /no rule of this server grants you anything/);
  const off = await new Browser().signIn(undefined);
  assert.equal(off.status, 400, off.text);
  assert.match(off.text, /\(access_denied\)/);
});

test('after the keys of the provider were rotated people sign in again', async () => {
  provide();
  const deadline = Date.now() + 120_000;
  for (;;) {
    const answered = await new Browser().signIn('ops-zoe');
    if (answered.status === 200) break;
    // The new key is not known yet, and asked for every ten seconds at most.
    assert.match(answered.text, /not signed by one of its keys/);
    assert.ok(Date.now() < deadline, answered.text);
  }
});

test('no code, secret or cookie is in a log or a file', async () => {
  punctual.kill();
  await once(punctual, 'exit');
  assert.match(readFileSync(log, 'utf8'), /somebody signed in/);
  assert.ok(secrets.size > 10, `${secrets.size}`);
  const files = [log, ...readdirSync(join(folder, 'data')).map((name) => join(folder, 'data', name))];
  for (const file of files.filter((name) => statSync(name).isFile())) {
    const content = readFileSync(file, 'latin1');
    for (const secret of secrets) assert.ok(!content.includes(secret), `${file} has ${secret}`);
  }
});
