// A real OpenID provider: its tokens are taken as the rules say, and nothing else that looks like one.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { after, before } from 'node:test';

const { default: Provider } = await import(process.env.PUNCTUAL_OIDC_PROVIDER);

const folder = mkdtempSync(join(tmpdir(), 'punctual-oidc-'));
let answer; // what the provider does with a request
let issuer, base, punctual;
const front = createServer((request, response) => answer(request, response));

/** New keys of all three algorithms. */
function newKeys() {
  const make = { RS256: ['rsa', { modulusLength: 2048 }], ES256: ['ec', { namedCurve: 'P-256' }], EdDSA: ['ed25519', {}] };
  return Object.entries(make).map(([alg, [kind, options]]) => {
    const { privateKey } = generateKeyPairSync(kind, options);
    return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg };
  });
}

/** A provider; a resource says what a token for it is like: its algorithm, its audience and its seconds to live. */
function provide(keys) {
  const provider = new Provider(issuer, {
    jwks: { keys },
    clients: [
      {
        client_id: 'robot',
        client_secret: 'secret',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    extraTokenClaims: () => ({ groups: ['dev', 'ops'] }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo(_, resource) {
          const [alg, audience, ttl] = new URL(resource).pathname.slice(1).split('/');
          return { scope: 'read', audience, accessTokenTTL: Number(ttl), accessTokenFormat: 'jwt', jwt: { sign: { alg } } };
        },
      },
    },
  });
  answer = provider.callback();
}

async function issue(alg, audience = 'punctual', seconds = 300) {
  const form = { grant_type: 'client_credentials', client_id: 'robot', client_secret: 'secret', scope: 'read' };
  const resource = `https://resource.example/${alg}/${audience}/${seconds}`;
  const response = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams({ ...form, resource }) });
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return body.access_token;
}

async function call(token, method = 'GET', name = '') {
  const path = '/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections';
  const response = await fetch(`${base}${path}${name}?api-version=2016-03-01`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    body: method === 'PUT' ? JSON.stringify({ location: 'westus' }) : undefined,
  });
  const text = await response.text();
  return { status: response.status, code: text && JSON.parse(text).error?.code, text };
}

/** Calls until the answer has a status, for half a minute. */
async function callUntil(status, token) {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const found = await call(typeof token === 'function' ? await token() : token);
    if (found.status === status) return found;
    assert.ok(Date.now() < deadline, `${found.status} ${found.text}`);
  }
}

before(async () => {
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  issuer = `http://127.0.0.1:${front.address().port}`;
  provide(newKeys());
  const config = join(folder, 'punctual.toml');
  writeFileSync(
    config,
    `[[auth.issuers]]
issuer = "${issuer}"
audience = "punctual"
allowance_seconds = 0

[[auth.issuers.rules]]
claim = "groups"
value = "ops"
role = "contributor"
scope = "/subscriptions/s1"

# What is refused here is tried until it is not.
[limits]
sign_in_failures_per_minute = 0
`,
  );
  const options = ['serve', '--listen', '127.0.0.1:0', '--role', 'api', '--data', join(folder, 'data'), '--config', config];
  punctual = spawn(process.env.PUNCTUAL_BINARY, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: punctual.stdout })) {
    base = /listens on (http:[^,]*),/.exec(line)?.[1];
    if (base) break;
  }
});

after(async () => {
  punctual.kill();
  await once(punctual, 'exit');
  front.closeAllConnections();
  front.close();
  rmSync(folder, { recursive: true });
});

test('tokens of each algorithm may do what the rules say', async () => {
  for (const alg of ['ES256', 'RS256', 'EdDSA']) {
    const token = await issue(alg);
    assert.equal((await call(token, 'PUT', `/${alg}`)).status, 201, alg);
    assert.equal((await call(token)).status, 200, alg);
    const elsewhere = await fetch(`${base}/doctor`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(elsewhere.status, 403);
  }
  assert.equal((await fetch(`${base}/tenants?api-version=1`)).status, 401, 'everybody must say who they are');
});

test('a token for another audience is refused', async () => {
  const found = await call(await issue('ES256', 'other'));
  assert.deepEqual([found.status, found.code], [401, 'InvalidAuthenticationToken']);
  assert.match(found.text, /'aud'/);
});

test('a token is refused when it has expired, also one that was taken before', async () => {
  const token = await issue('ES256', 'punctual', 2);
  assert.equal((await call(token)).status, 200);
  assert.equal((await callUntil(401, token)).code, 'ExpiredAuthenticationToken');
});

test('a token without a signature, or with one by another algorithm, is refused', async () => {
  const [header, body, signature] = (await issue('RS256')).split('.');
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const { kid } = JSON.parse(Buffer.from(header, 'base64url'));
  for (const forged of [
    `${encode({ alg: 'none' })}.${body}.`,
    `${encode({ alg: 'none', kid })}.${body}.`,
    `${encode({ alg: 'HS256', kid })}.${body}.${signature}`,
    `${encode({ alg: 'ES256', kid })}.${body}.${signature}`,
    `${header}.${encode({ ...JSON.parse(Buffer.from(body, 'base64url')), groups: ['ops'], sub: 'x' })}.${signature}`,
  ]) {
    assert.equal((await call(forged)).status, 401, forged);
  }
  assert.equal((await call(`${header}.${body}.${signature}`)).status, 200);
});

test('after the keys were rotated new tokens are taken, and those of withdrawn keys are not', async () => {
  const old = await issue('ES256');
  assert.equal((await call(old)).status, 200);
  provide(newKeys());
  await callUntil(200, () => issue('ES256'));
  const found = await call(old);
  assert.deepEqual([found.status, found.code], [401, 'InvalidAuthenticationToken']);
});

test('a provider that hangs holds up nobody for long', async () => {
  const known = await issue('ES256');
  assert.equal((await call(known)).status, 200);
  provide(newKeys());
  const unknown = await issue('ES256');
  answer = () => {};
  const deadline = Date.now() + 30_000;
  for (;;) {
    const begun = Date.now();
    const [one, other] = await Promise.all([call(unknown), call(known)]);
    const took = Date.now() - begun;
    assert.ok([401, 503].includes(one.status), one.text);
    assert.equal(other.status, 200);
    assert.ok(took < 20_000, `${took} ms`);
    // One has waited for the provider.
    if (took > 1_000) {
      assert.equal(one.status, 503, one.text);
      break;
    }
    assert.ok(Date.now() < deadline, 'the provider is not asked');
  }
});
