// Every page in light and dark, on a desk and in a hand: no violation of WCAG 2.2 AA as far as axe sees it, nothing that leaves the
// width of a phone.
import assert from 'node:assert/strict';
import test from 'node:test';
import { demo, open, serve, settled, violations } from './harness.mjs';

const timeout = 400_000;
const JOB = 'platform/monitoring/probe-asia';

/** The pages of a demo. */
const PLACES = {
  overview: '/',
  jobs: '/jobs',
  collections: '/collections',
  collection: '/collections/acme/platform/monitoring',
  'new collection': '/collections/new',
  'new job': '/collections/acme/platform/monitoring/new',
  job: `/jobs/acme/${JOB}`,
  'failing job': '/jobs/acme/finance/billing/exchange-rates',
  'finished job': '/jobs/acme/shop/storefront/begin-sale',
  editor: `/jobs/acme/${JOB}/edit`,
  timetable: '/timetable',
  'timetable of a month': '/timetable?range=30d',
  server: '/cluster',
  settings: '/settings',
  audit: '/audit',
  'sign in': '/signin',
};

for (const [dark, phone] of [[false, false], [true, false], [false, true], [true, true]]) {
  const how = `${dark ? 'in the dark' : 'in the light'} ${phone ? 'on a phone' : 'on a desk'}`;
  test(`nobody is kept out, ${how}`, { timeout }, async (context) => {
    const server = await demo(context);
    const page = await open(context, server.url, { dark, phone, still: true });
    const found = [];
    for (const [name, place] of Object.entries(PLACES)) {
      await page.goto(server.url + place);
      await settled(page);
      for (const violation of await violations(page)) found.push(`${name}: ${violation}`);
      const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      if (wide > shown) found.push(`${name}: ${wide} pixels wide on a screen of ${shown}`);
    }
    assert.deepEqual(found, []);
  });
}

test('the first page of an empty server keeps nobody out', { timeout }, async (context) => {
  const server = await serve(context);
  for (const dark of [false, true]) {
    const page = await open(context, server.url, { dark, still: true });
    await settled(page);
    assert.deepEqual(await violations(page), []);
  }
});
