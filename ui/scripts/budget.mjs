// The sizes that the page may have (gzip), and that nothing in it is inline. Run after each build.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url);
const assets = readdirSync(new URL('assets/', dist));
const size = (f) => gzipSync(readFileSync(new URL(`assets/${f}`, dist)), { level: 9 }).length;
const html = readFileSync(new URL('index.html', dist), 'utf8');
const js = assets.filter((f) => f.endsWith('.js'));
const first = js.filter((f) => html.includes(f));
const sum = (list) => list.reduce((n, f) => n + size(f), 0);
const fonts = assets.filter((f) => f.endsWith('.woff2')).reduce((n, f) => n + readFileSync(new URL(`assets/${f}`, dist)).length, 0);

const budgets = [
  ['JavaScript, first page', sum(first), 70_000],
  ['JavaScript, all', sum(js), 120_000],
  ['CSS', sum(assets.filter((f) => f.endsWith('.css'))), 12_000],
  ['fonts', fonts, 65_000],
];
let bad = 0;
for (const [name, bytes, max] of budgets) {
  const over = bytes > max;
  bad += over ? 1 : 0;
  console.log(`${name.padEnd(24)} ${(bytes / 1000).toFixed(1).padStart(6)} kB of ${max / 1000} kB${over ? '  TOO MUCH' : ''}`);
}
const check = (ok, what) => {
  if (ok) return;
  bad += 1;
  console.log(what);
};
check(html.includes('<base href="/">'), 'index.html has no <base href="/">');
check(!/<script(?![^>]*\bsrc=)/.test(html), 'index.html has an inline script');
check(!/<style|style="/.test(html), 'index.html has inline styles');
check(!/(?:src|href)="(?:https?:|data:|\/(?!"))/.test(html), 'index.html has an address that is not relative');
for (const f of assets.filter((x) => /\.(js|css)$/.test(x))) {
  const text = readFileSync(new URL(`assets/${f}`, dist), 'utf8');
  check(!/url\((?:"|')?data:/.test(text), `${f} has a data: URL`);
  check(!/\bnew Function\(|\beval\(/.test(text), `${f} makes code of text`);
}
process.exit(bad ? 1 : 0);
