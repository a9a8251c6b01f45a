// Hostile pages in a real Chromium: one whose name is made to lead to the server (DNS rebinding), and one of another
// site. PUNCTUAL_BINARY is the server's program, CHROMIUM the browser's.
'use strict';

const assert = require('node:assert');
const { once } = require('node:events');
const test = require('node:test');
const { Reports, ask, browse, freePort, punctual, serve } = require('./chromium.js');

const COLLECTION = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c?api-version=2016-03-01';
const DISABLE = COLLECTION.replace('?', '/disable?');

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
  const port = await freePort();
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
