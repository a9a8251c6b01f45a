// What happens shows by itself: a first job, a run, a connection that is lost and comes back.
import assert from 'node:assert/strict';
import test from 'node:test';
import { TOMORROW, collectionPath, cuttable, heading, needing, open, serve, settled, until } from './harness.mjs';

const options = needing(180_000, '/jobs', '/stats', '/agenda');
/** Without the stream of events the page looks again every five seconds. */
const streaming = needing(180_000, '/events', '/jobs');

test('the first job changes the first page by itself', options, async (context) => {
  const server = await serve(context);
  const page = await open(context, server.url);
  assert.equal(await heading(page), 'Nothing is due yet.');
  await server.collection();
  await server.job('hello', { recurrence: { frequency: 'Minute' } });
  await until('the overview', async () => (await heading(page)) === 'Overview');
  await page.getByRole('link', { name: 'hello', exact: true }).first().waitFor();
});

test('a run shows within a second of its start', streaming, async (context) => {
  const server = await serve(context);
  await server.collection();
  // It is due once a year, so that what shows is the run.
  await server.job('j', { recurrence: { frequency: 'Year', schedule: { months: [1], monthDays: [1], hours: [0], minutes: [0] } }, startTime: TOMORROW });
  const page = await open(context, `${server.url}/jobs/s/g/c/j`);
  const run = page.getByRole('button', { name: 'Run now' });
  await run.waitFor();
  await page.getByText('It has not been due yet.').waitFor();
  const [began] = await Promise.all([
    page.waitForResponse((answer) => answer.url().includes('/run?')).then(() => performance.now()),
    run.click(),
  ]);
  await page.getByText('by hand').first().waitFor();
  await page.getByText('delivered', { exact: false }).first().waitFor();
  const took = performance.now() - began;
  context.diagnostic(`the run showed after ${Math.round(took)} ms`);
  const { value } = await server.ask('GET', `${collectionPath('c')}/jobs/j/history`);
  assert.equal(value.length, 1);
  assert.ok(took < 5_000, `it took ${took} ms; a second is the aim, and machines are busy`);
});

test('a job that somebody else changes changes here', options, async (context) => {
  const server = await serve(context);
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day' } });
  const page = await open(context, `${server.url}/jobs/s/g/c/j`);
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  await server.ask('PATCH', `${collectionPath('c')}/jobs/j`, { properties: { state: 'Disabled' } });
  await page.getByText('It is disabled: nothing runs until somebody enables it.').waitFor();
});

test('a lost connection is told, keeps what is seen, refuses orders, and mends itself', options, async (context) => {
  const server = await serve(context);
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day' } });
  const line = await cuttable(context, server);
  const page = await open(context, `${line.url}/jobs/s/g/c/j`, { expected: /ERR_|Failed to load|net::|EventSource/ });
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  line.cut();
  await page.getByText('The server does not answer.').first().waitFor();
  assert.match(await heading(page), /^j/, 'what was seen stays');
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('Nothing was sent', { exact: false }).first().waitFor();
  line.join();
  await page.getByRole('button', { name: 'Try now' }).click().catch(() => {});
  await page.locator('.strip-off').waitFor({ state: 'detached' });
  await server.ask('PATCH', `${collectionPath('c')}/jobs/j`, { properties: { state: 'Disabled' } });
  await page.getByText('It is disabled: nothing runs until somebody enables it.').waitFor();
  assert.equal((await server.ask('GET', `${collectionPath('c')}/jobs/j/history`)).value.filter((record) => record.properties.actionName !== 'MainAction').length, 0);
});

test('a server is asked only for what it can do', options, async (context) => {
  const server = await serve(context);
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day' } });
  const page = await open(context, `${server.url}/settings`);
  await page.route('**/me?*', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), features: ['search'] } });
  });
  // The page that is open was told of everything, and may just be asking.
  await page.goto('about:blank');
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  for (const [place, seen] of Object.entries({ '/': 'Needs attention', '/jobs': 'Last 30 due times', '/timetable': 'This server can’t say what is due.' })) {
    await page.goto(server.url + place);
    await page.getByText(seen).first().waitFor();
    await settled(page);
    assert.equal(await page.getByRole('alert').count(), 0, place);
  }
  assert.ok(asked.includes('/jobs'));
  assert.deepEqual(asked.filter((one) => /^\/(stats|agenda|events|nodes|bulk)/.test(one)), []);
});
