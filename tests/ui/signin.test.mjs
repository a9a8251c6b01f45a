// Signing in, what each role sees, and the end of a session.
import assert from 'node:assert/strict';
import test from 'node:test';
import { TOMORROW, collectionPath, heading, open, serve, until } from './harness.mjs';

const timeout = 180_000;
// A browser tells of each answer that is no success.
const refusals = /status of 40[13]/;

/** Signs in with a token, on whatever page asks for it. */
async function signIn(page, token) {
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Sign in with the token' }).click();
}

test('somebody signs in where they were, looks around and signs out', { timeout }, async (context) => {
  const server = await serve(context, { tokens: true });
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day' }, startTime: TOMORROW });
  const page = await open(context, `${server.url}/jobs/s/g/c/j`, { expected: refusals });
  assert.equal(await heading(page), 'Sign in');
  assert.ok(!(await page.locator('body').innerText()).includes('j\n'), 'nothing is shown before');
  await signIn(page, server.token);
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  assert.match(await heading(page), /^j/);
  assert.equal(new URL(page.url()).pathname, '/jobs/s/g/c/j');
  assert.equal(await page.evaluate(() => document.cookie), '', 'no script sees the session');
  assert.equal(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]).includes('pct_')), false, 'the token is kept nowhere');
  await page.goto(`${server.url}/settings`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Access token').waitFor();
  const cookies = await page.context().cookies();
  assert.deepEqual(cookies.filter((cookie) => cookie.name.startsWith('__Host-')), []);
});

test('a token that is none is told in the words of the server', { timeout }, async (context) => {
  const server = await serve(context, { tokens: true });
  const page = await open(context, server.url, { expected: refusals });
  await signIn(page, 'pct_0000000000000000000000000000000000000000000');
  await page.getByText('Not signed in.').waitFor();
  assert.equal(await heading(page), 'Sign in');
  await signIn(page, server.token);
  await page.getByRole('navigation').first().waitFor();
});

test('a reader sees what it may not do, and why, and the server refuses all the same', { timeout }, async (context) => {
  const server = await serve(context, { tokens: true });
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day' }, startTime: TOMORROW });
  const token = await server.createToken('reader', 'reader', collectionPath('c'));
  const page = await open(context, `${server.url}/jobs/s/g/c/j`, { expected: refusals });
  await signIn(page, token);
  const run = page.getByRole('button', { name: 'Run now' });
  await run.waitFor();
  assert.equal(await run.getAttribute('aria-disabled'), 'true');
  const reason = await run.evaluate((button) => document.getElementById(button.getAttribute('aria-describedby')).textContent);
  assert.equal(reason, 'This needs the role operator here.');
  await page.getByText('your role here is reader').first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Edit' }).getAttribute('aria-disabled'), 'true');
  // The page sends nothing, and the server would refuse it.
  const sent = [];
  page.on('request', (request) => { if (request.method() !== 'GET') sent.push(request.url()); });
  // Playwright would wait until it is enabled.
  await run.click({ force: true });
  await page.keyboard.press('r');
  assert.deepEqual(sent, []);
  const forced = await page.evaluate(async (path) => {
    const answer = await fetch(`${path}/jobs/j/run?api-version=2026-11-01`, { method: 'POST', headers: { 'X-Punctual-Page': '1' } });
    return answer.status;
  }, collectionPath('c'));
  assert.equal(forced, 403);
  assert.deepEqual((await server.ask('GET', `${collectionPath('c')}/jobs/j/history`)).value, []);
});

test('an operator may run and not change', { timeout }, async (context) => {
  const server = await serve(context, { tokens: true });
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day' }, startTime: TOMORROW });
  const token = await server.createToken('operator', 'operator', collectionPath('c'));
  const page = await open(context, `${server.url}/jobs/s/g/c/j`, { expected: refusals });
  await signIn(page, token);
  const run = page.getByRole('button', { name: 'Run now' });
  await run.waitFor();
  assert.equal(await run.getAttribute('aria-disabled'), null);
  assert.equal(await page.getByRole('button', { name: 'Edit' }).getAttribute('aria-disabled'), 'true');
});

test('a session that ends leads to signing in and back to where one was', { timeout }, async (context) => {
  const server = await serve(context, { tokens: true });
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day' }, startTime: TOMORROW });
  const page = await open(context, `${server.url}/jobs/s/g/c/j`, { expected: refusals });
  await signIn(page, server.token);
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  const sessions = await server.ask('GET', '/sessions');
  for (const one of sessions.value) await server.ask('DELETE', `/sessions/${one.id}`);
  // The page asks by itself, or when something is done.
  await until('the page asks to sign in', async () => {
    if (await page.getByLabel('Access token').count()) return true;
    const run = page.getByRole('button', { name: 'Run now' });
    if (await run.count()) await run.click({ timeout: 1000 }).catch(() => {});
    return false;
  });
  await signIn(page, server.token);
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/jobs/s/g/c/j');
});
