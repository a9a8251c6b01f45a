// Takes pictures of a demo, and of a person's walk through an empty server: make a job, see it fail, find out why, fix it, see it on
// time. Run by scripts/screenshots, with the folder for the pictures.
import path from 'node:path';
import { collectionPath, demo, open, serve, settled, until } from './harness.mjs';

const folder = process.argv[2];
const SIZE = { viewport: { width: 1280, height: 800 } };

/** What tests get from their runner: it is told what to do at the end. */
class Context {
  after(end) { this.end = end; }
}

async function picture(page, name, dark) {
  await settled(page);
  await page.screenshot({ path: path.join(folder, `${name}-${dark ? 'dark' : 'light'}.png`) });
}

/** Shows what happened to a job, below the bar. */
async function happened(page) {
  await page.getByRole('heading', { name: 'What happened' }).evaluate((heading) => window.scrollTo(0, heading.getBoundingClientRect().top + window.scrollY - 120));
}

async function ofDemo(context, dark) {
  const server = await demo(context, 3);
  const page = await open(context, server.url, { ...SIZE, dark, still: true });
  for (const [name, place] of Object.entries({
    overview: '/',
    jobs: '/jobs',
    timetable: '/timetable',
    job: '/jobs/acme/platform/monitoring/probe-asia',
    editor: '/jobs/acme/shop/orders/newsletter/edit',
  })) {
    await page.goto(server.url + place);
    await picture(page, name, dark);
  }
}

async function ofWalk(context, dark) {
  const server = await serve(context);
  await server.collection('reports', 'shop', 'acme');
  const page = await open(context, server.url, { ...SIZE, dark, still: true });
  await picture(page, 'walk-1-start', dark);

  await page.goto(`${server.url}/collections/acme/shop/reports/new`);
  await page.getByLabel('Name', { exact: true }).fill('daily-report');
  await page.getByLabel('URL').fill(`http://${server.echo}/status/404/reports`);
  await page.getByLabel('Try again').selectOption('none');
  await page.getByText('Every day', { exact: false }).first().waitFor();
  await picture(page, 'walk-2-make', dark);
  await page.getByRole('button', { name: /^Create/ }).first().click();

  await page.getByRole('button', { name: /^Attempts of/ }).first().click();
  await happened(page);
  await picture(page, 'walk-3-failed', dark);
  const job = `${collectionPath('reports', 'shop', 'acme')}/jobs/daily-report`;
  await until('the failure is recorded', async () => (await server.ask('GET', `${job}/history`)).value.length > 0);

  await page.goto(`${server.url}/jobs/acme/shop/reports/daily-report/edit`);
  await page.getByLabel('URL').fill(`http://${server.echo}/reports`);
  await page.getByText('What saving changes', { exact: false }).waitFor();
  await picture(page, 'walk-4-fix', dark);
  await page.getByRole('button', { name: /^Save/ }).first().click();

  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('by hand').first().waitFor();
  await page.getByText('delivered', { exact: false }).first().waitFor();
  await happened(page);
  await picture(page, 'walk-5-on-time', dark);
}

for (const dark of [false, true]) {
  for (const take of [ofDemo, ofWalk]) {
    const context = new Context();
    try {
      await take(context, dark);
    } finally {
      await context.end();
    }
  }
}
