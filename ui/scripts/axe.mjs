// Looks with axe at each page in light and dark, large and small: node scripts/axe.mjs URL [name…].
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { open, PAGES } from './browser.mjs';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const [url = 'http://127.0.0.1:5173/', ...only] = process.argv.slice(2);
let bad = 0;
for (const look of (process.env.LOOKS ?? 'light,dark,phone').split(',')) {
  const { context, page, errors } = await open({ phone: look === 'phone', theme: look === 'dark' ? 'dark' : 'light' });
  for (const [name, path] of Object.entries(PAGES)) {
    if (only.length && !only.includes(name)) continue;
    await page.goto(new URL(path, url).href, { waitUntil: 'load' });
    await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => {});
    await page.evaluate(source);
    const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    const lines = found.violations.map((v) => `  ${v.id} (${v.nodes.length}): ${v.help}\n${v.nodes.slice(0, 3).map((n) => `    ${n.html.slice(0, 160)} ${n.any[0]?.message ?? n.all[0]?.message ?? ''}`).join('\n')}`);
    bad += found.violations.length + errors.length;
    console.log(`${look} ${name}: ${found.violations.length || 'none'}${errors.length ? ` ERRORS ${errors.splice(0).join(' | ')}` : ''}${lines.length ? `\n${lines.join('\n')}` : ''}`);
  }
  await context.close();
}
process.exit(bad ? 1 : 0);
