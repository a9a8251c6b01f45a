// Pictures of each page: node scripts/shots.mjs URL [name…] into shots/.
import { mkdirSync } from 'node:fs';
import { open, PAGES } from './browser.mjs';

const [url = 'http://127.0.0.1:5173/', ...only] = process.argv.slice(2);
mkdirSync(new URL('../shots/', import.meta.url), { recursive: true });
const looks = (process.env.LOOKS ?? 'light,dark,phone').split(',');
for (const look of looks) {
  const { context, page, errors } = await open({ phone: look.startsWith('phone'), theme: look.includes('dark') ? 'dark' : 'light' });
  for (const [name, path] of Object.entries(PAGES)) {
    if (only.length && !only.includes(name)) continue;
    await page.goto(new URL(path, url).href, { waitUntil: 'load' });
    await page.waitForLoadState('networkidle', { timeout: 4000 }).catch(() => {});
    await page.waitForTimeout(300);
    await page.screenshot({ path: new URL(`../shots/${name}-${look}.png`, import.meta.url).pathname, fullPage: !process.env.FOLD });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    console.log(look, name, errors.length ? `ERRORS ${errors.splice(0).join(' | ')}` : 'ok', wide > 0 ? `WIDER by ${wide}` : '');
  }
  await context.close();
}
