// By keyboard alone, and for whoever can't see.
import assert from 'node:assert/strict';
import test from 'node:test';
import { heading, open, serve, until } from './harness.mjs';

const timeout = 180_000;

async function jobs(context, options) {
  const server = await serve(context);
  await server.collection();
  for (const name of ['alpha', 'bravo', 'charlie']) await server.job(name, { recurrence: { frequency: 'Day' } });
  return { server, page: await open(context, `${server.url}/jobs`, options) };
}

const at = (page, place) => until(`the page is at ${place}`, async () => new URL(page.url()).pathname === place);

test('places are reached by keys', { timeout }, async (context) => {
  const { page } = await jobs(context);
  await page.getByText('alpha').first().waitFor();
  for (const [keys, place] of [['gt', '/timetable'], ['gc', '/cluster'], ['go', '/'], ['gj', '/jobs']]) {
    for (const key of keys) await page.keyboard.press(key);
    await at(page, place);
  }
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
});

test('a job is found and opened by keys', { timeout }, async (context) => {
  const { page } = await jobs(context);
  await page.getByText('alpha').first().waitFor();
  await page.keyboard.press('/');
  const find = page.getByRole('combobox').or(page.getByLabel('Find a job, a collection or a command')).first();
  await find.waitFor();
  await page.keyboard.type('bravo');
  await page.getByRole('option', { name: /bravo/ }).first().waitFor();
  await page.keyboard.press('Enter');
  await at(page, '/jobs/s/g/c/bravo');
  assert.match(await heading(page), /^bravo/);
});

test('a row is reached and opened by keys', { timeout }, async (context) => {
  const { page } = await jobs(context);
  await page.getByText('alpha').first().waitFor();
  await page.keyboard.press('j');
  await until('a job has the focus', () => page.evaluate(() => document.activeElement?.closest('tr') !== null && document.activeElement.tagName === 'A'));
  await page.keyboard.press('Enter');
  await until('the page of a job', async () => new URL(page.url()).pathname.startsWith('/jobs/s/g/c/'));
});

test('the first stop of Tab skips to the content, and every stop shows where it is', { timeout }, async (context) => {
  const { page } = await jobs(context);
  await page.getByText('alpha').first().waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'Skip to content');
  for (let stop = 0; stop < 15; stop += 1) {
    await page.keyboard.press('Tab');
    const shown = await page.evaluate(() => {
      const one = document.activeElement;
      if (!one || one === document.body) return 'nothing has the focus';
      const style = getComputedStyle(one);
      return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1 ? '' : `${one.tagName} ${one.className} ${one.textContent.trim()}`;
    });
    assert.equal(shown, '');
  }
});

test('keys do nothing while somebody types', { timeout }, async (context) => {
  const { page } = await jobs(context);
  await page.getByText('alpha').first().waitFor();
  const filter = page.getByLabel('Filter jobs by name or target');
  await filter.fill('');
  await filter.press('g');
  await filter.press('t');
  assert.equal(new URL(page.url()).pathname, '/jobs');
  assert.equal(await filter.inputValue(), 'gt');
});
