// The page as it is served: at every address, behind a path, within its budget, and without anything that its policy forbids.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import test from 'node:test';
import zlib from 'node:zlib';
import { DIST, collectionPath, heading, open, serve } from './harness.mjs';

const timeout = 180_000;

/** The addresses of all pages, with a collection `c` and a job `j` in it. */
export const PLACES = {
  overview: '/',
  jobs: '/jobs',
  collections: '/collections',
  collection: '/collections/s/g/c',
  'new job': '/collections/s/g/c/new',
  job: '/jobs/s/g/c/j',
  editor: '/jobs/s/g/c/j/edit',
  timetable: '/timetable',
  cluster: '/cluster',
  settings: '/settings',
  audit: '/audit',
  'sign in': '/signin',
};

test('every page can be opened by its address', { timeout }, async (context) => {
  const server = await serve(context);
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day' } });
  const page = await open(context, server.url);
  for (const [name, place] of Object.entries(PLACES)) {
    const answer = await page.goto(server.url + place);
    assert.equal(answer.status(), 200, name);
    assert.notEqual(await heading(page), '', name);
    assert.equal(await page.locator('h1').count(), 1, `${name} has one heading`);
    assert.match(await page.title(), /Punctual/, name);
  }
});

test('an address that nobody has is told as such', { timeout }, async (context) => {
  const server = await serve(context);
  const page = await open(context, server.url, { expected: /404/ });
  const answer = await page.goto(`${server.url}/no/such/place`);
  assert.equal(answer.status(), 404);
  assert.notEqual(await heading(page), '');
});

/** A proxy that has the server below a path, and leaves the path away or passes it on. */
async function below(context, port, prefix, passesOn) {
  const proxy = http.createServer((request, response) => {
    if (request.url !== prefix && !request.url.startsWith(`${prefix}/`)) return void response.writeHead(404).end();
    const target = passesOn ? request.url : request.url.slice(prefix.length) || '/';
    const passed = http.request({ host: '127.0.0.1', port, path: target, method: request.method, headers: request.headers });
    passed.on('error', () => response.destroy());
    passed.on('response', (answer) => { response.writeHead(answer.statusCode, answer.headers); answer.pipe(response); });
    response.on('close', () => passed.destroy());
    request.pipe(passed);
    return undefined;
  });
  await new Promise((resolve) => { proxy.listen(0, '127.0.0.1', resolve); });
  context.after(() => { proxy.closeAllConnections(); proxy.close(); });
  return proxy.address().port;
}

for (const passesOn of [true, false]) {
  test(`the page works below a path that the proxy ${passesOn ? 'passes on' : 'leaves away'}`, { timeout }, async (context) => {
    // The proxy has to be known to the server, and the other way round: the server's port comes first.
    const probe = http.createServer();
    await new Promise((resolve) => { probe.listen(0, '127.0.0.1', resolve); });
    const { port } = probe.address();
    await new Promise((resolve) => { probe.close(resolve); });
    const front = await below(context, port, '/tools/punctual', passesOn);
    const url = `http://localhost:${front}/tools/punctual`;
    const server = await serve(context, { environment: { PUNCTUAL_SERVER__PUBLIC_URL: url }, listen: `127.0.0.1:${port}` });
    await server.collection();
    await server.job('j', { recurrence: { frequency: 'Day' } });
    const page = await open(context, `${url}/jobs/s/g/c/j`);
    assert.match(await heading(page), /^j/);
    const stray = [];
    page.on('request', (request) => { if (!request.url().startsWith(`${url}/`) && request.url() !== url) stray.push(request.url()); });
    await page.goto(`${url}/`);
    await heading(page);
    await page.goto(`${url}/collections/s/g/c`);
    await page.getByText('j', { exact: true }).first().waitFor();
    assert.deepEqual(stray, []);
    assert.equal((await server.call('GET', `${collectionPath('c')}/jobs/j`)).status, 200);
  });
}

test('scripts, styles and fonts stay within their budget', () => {
  const files = fs.readdirSync(path.join(DIST, 'assets'));
  const size = (name) => zlib.gzipSync(fs.readFileSync(path.join(DIST, 'assets', name)), { level: 9 }).length;
  const sum = (names) => names.reduce((total, name) => total + size(name), 0);
  const index = fs.readFileSync(path.join(DIST, 'index.html'), 'utf8');
  const scripts = files.filter((name) => name.endsWith('.js'));
  const first = scripts.filter((name) => index.includes(name));
  assert.ok(sum(first) <= 70_000, `the first page has ${sum(first)} bytes of script`);
  assert.ok(sum(scripts) <= 120_000, `all pages have ${sum(scripts)} bytes of script`);
  assert.ok(sum(files.filter((name) => name.endsWith('.css'))) <= 12_000, 'styles');
  const fonts = files.filter((name) => name.endsWith('.woff2')).map((name) => fs.statSync(path.join(DIST, 'assets', name)).size);
  assert.ok(fonts.reduce((total, one) => total + one, 0) <= 65_000, 'fonts');
});
