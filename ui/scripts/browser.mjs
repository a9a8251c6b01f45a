// A headless Chromium for scripts that look at the page.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Opens a browser; `phone` is 390 by 844 with touch. */
export async function open({ phone = false, theme = 'light', width = 1440, height = 900 } = {}) {
  const context = await chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), 'punctual-ui-')), {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ARGS,
    viewport: phone ? { width: 390, height: 844 } : { width, height },
    hasTouch: phone,
    colorScheme: theme,
    timezoneId: 'Europe/Zurich',
    reducedMotion: 'reduce',
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const errors = [];
  page.on('console', (m) => {
    if (m.type() === 'error') errors.push(m.text());
  });
  page.on('pageerror', (e) => errors.push(String(e)));
  return { context, page, errors };
}

const J = process.env.JOB ?? 'prod/logistics/fulfilment/invoice-status';
export const PAGES = {
  overview: '',
  jobs: 'jobs',
  collection: `collections/${J.split('/').slice(0, 3).join('/')}`,
  job: `jobs/${J}`,
  edit: `jobs/${J}/edit`,
  new: `collections/${J.split('/').slice(0, 3).join('/')}/new`,
  timetable: 'timetable',
  month: 'timetable?range=30d',
  cluster: 'cluster',
  collections: 'collections',
  newCollection: 'collections/new',
  settings: 'settings',
  audit: 'audit',
  signin: 'signin',
  unknown: 'nowhere',
};
