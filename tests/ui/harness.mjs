// What tests of the web page share: servers with a temporary folder, a Chromium that is driven by Playwright, and what must hold
// on every page: no error on the console, nothing that the policy forbids, no request to anybody else.
// PUNCTUAL_BINARY is the server's program, CHROMIUM the browser's.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';

const root = path.resolve(import.meta.dirname, '../..');
const require = createRequire(path.join(root, 'ui/package.json'));
const { chromium } = require('playwright-core');
const { start } = createRequire(import.meta.url)('../browser/chromium.js');

export const DIST = path.join(root, 'ui/dist');
export const VERSION = 'api-version=2026-11-01';
/** How long something may take that should come soon; machines are busy. */
export const SOON = 30_000;

/** A time of which a test sees nothing. */
export const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

/** The ARM path of a collection. */
export function collectionPath(name, group = 'g', subscription = 's') {
  return `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Scheduler/jobCollections/${name}`;
}

const paths = Object.keys(JSON.parse(fs.readFileSync(path.join(root, 'crates/api/openapi.json'), 'utf8')).paths);
const patterns = paths.map((one) => new RegExp(`^${one.replace(/[.]/g, '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`, 'i'));

/** Whether the API has a path. The page does without what an older server lacks, and so do the tests of it. */
export function described(target) {
  return patterns.some((pattern) => pattern.test(target));
}

/** The options of a test that needs operations of the API. */
export function needing(timeout, ...targets) {
  const missing = targets.filter((target) => !described(target));
  return missing.length ? { skip: `the API has no ${missing.join(', ')}` } : { timeout };
}

const ends = new WeakMap();

/** Has something done when a test ends, the last first: a browser is closed before the server that it asks. */
function atEnd(context, end) {
  if (!ends.has(context)) {
    ends.set(context, []);
    context.after(async () => {
      const failed = [];
      for (const one of ends.get(context).reverse()) {
        try { await one(); } catch (error) { failed.push(error); }
      }
      if (failed.length) throw failed[0];
    });
  }
  ends.get(context).push(end);
}

/** A running server. */
class Server {
  /** Calls the API, as the holder of a token if there is one. */
  async call(method, target, body, token = this.token) {
    const headers = { 'content-type': 'application/json' };
    if (token) headers.authorization = `Bearer ${token}`;
    const separator = target.includes('?') ? '&' : '?';
    const url = `${this.url}${target}${target.includes('api-version') ? '' : separator + VERSION}`;
    const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : text };
  }

  /** The same of what must succeed; what was answered. */
  async ask(method, target, body, token) {
    const answer = await this.call(method, target, body, token);
    assert.ok(answer.status < 300, `${method} ${target}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Makes a collection. */
  async collection(name = 'c', group = 'g', subscription = 's') {
    await this.ask('PUT', collectionPath(name, group, subscription), { location: 'West US', properties: { sku: { name: 'P20Premium' } } });
  }

  /** Makes a job in the collection `c` that calls the echo target there. */
  async job(name, properties = {}, target = '/hello') {
    const action = { type: 'Http', request: { method: 'GET', uri: `http://${this.echo}${target}` } };
    await this.ask('PUT', `${collectionPath('c')}/jobs/${name}`, { properties: { action, ...properties } });
  }

  /** Makes a token with a role on a scope. */
  async createToken(name, role, scope = '/') {
    const made = await this.ask('POST', '/tokens', { name, grants: [{ role, scope }] });
    return made.token;
  }
}

/** Starts a program of the binary, and gives each line that it says until one says where it listens. */
async function listening(context, prefix, options, environment, prepare) {
  const server = new Server();
  const child = start({ after: (end) => atEnd(context, end) }, process.env.PUNCTUAL_BINARY, {
    prefix,
    prepare,
    arguments: options,
  }, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of readline.createInterface({ input: child.stdout })) {
    server.url ??= / listens on (https?:\/\/[^,]+),/.exec(line)?.[1];
    server.echo ??= /echo target on ([^:]+:\d+)/.exec(line)?.[1];
    if (line.startsWith('  curl ')) break;
  }
  assert.ok(server.url, 'the server says where it listens');
  server.child = child;
  server.port = Number(new URL(server.url).port);
  server.url = `http://localhost:${server.port}`;
  return server;
}

/** An empty server that fires. With `tokens` it has an owner, whose token it knows. */
export async function serve(context, { tokens = false, environment = {}, options = [], listen = '127.0.0.1:0' } = {}) {
  let token;
  const prepare = (data) => {
    if (!tokens) return;
    const create = ['token', 'create', 'admin', '--role', 'owner', '--scope', '/', '--data', data];
    token = execFileSync(process.env.PUNCTUAL_BINARY, create, { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' }).trim();
  };
  const log = { PUNCTUAL_LOG__LEVEL: 'error', PUNCTUAL_SERVER__ECHO_LISTEN: '127.0.0.1:0' };
  const server = await listening(
    context,
    'punctual-data-',
    (data) => ['serve', '--listen', listen, '--data', data, ...options],
    { ...log, ...environment },
    prepare,
  );
  server.token = token;
  return server;
}

/** A demo, with a past. */
export function demo(context, weeks = 1) {
  return listening(context, 'punctual-demo-', () => ['demo', '--weeks', String(weeks), '--listen', '127.0.0.1:0'], {});
}

/** A port in front of a server that can be cut off, and joined again. */
export async function cuttable(context, server) {
  const pairs = new Set();
  let cut = false;
  const front = net.createServer((socket) => {
    if (cut) return void socket.destroy();
    const behind = net.connect(server.port, '127.0.0.1');
    pairs.add(socket).add(behind);
    for (const [one, other] of [[socket, behind], [behind, socket]]) {
      one.pipe(other);
      one.on('error', () => other.destroy()).on('close', () => { pairs.delete(one); other.destroy(); });
    }
    return undefined;
  });
  await new Promise((resolve) => { front.listen(0, '127.0.0.1', resolve); });
  const close = () => pairs.forEach((socket) => socket.destroy());
  atEnd(context, () => { close(); front.close(); });
  return {
    url: `http://localhost:${front.address().port}`,
    cut() { cut = true; close(); },
    join() { cut = false; },
  };
}

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
const DESKTOP = { viewport: { width: 1440, height: 900 } };

/**
 * A page of a browser of its own at an address. When the test ends nothing may have gone wrong in it: `page.problems` has what
 * did. `expected` says by a pattern what a test itself has caused, such as a connection that was cut off.
 */
export async function open(context, url, { dark = false, phone = false, still = false, expected = null, zone = 'Europe/Zurich', ...more } = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'] });
  const session = await browser.newContext({
    ...(phone ? PHONE : DESKTOP),
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: still ? 'reduce' : 'no-preference',
    locale: 'en-GB',
    timezoneId: zone,
    ...more,
  });
  session.setDefaultTimeout(SOON);
  const page = await session.newPage();
  const problems = [];
  const { origin } = new URL(url);
  const note = (text) => { if (!expected?.test(text)) problems.push(text); };
  page.on('console', (message) => {
    const { url: source } = message.location();
    const missing = /status of 404/.test(message.text()) && !described(new URL(source, url).pathname);
    if (['error', 'warning'].includes(message.type()) && !missing) note(`console: ${message.text()} (${source})`);
  });
  page.on('pageerror', (error) => note(`error: ${error.stack}`));
  page.on('request', (request) => {
    const target = new URL(request.url());
    if (target.origin !== origin && !['data:', 'blob:', 'about:'].includes(target.protocol)) note(`a request leaves the server: ${target.href}`);
  });
  await page.exposeFunction('noteViolation', (text) => note(`policy: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      window.noteViolation(`${event.violatedDirective} forbids ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
  });
  page.problems = problems;
  page.underWay = new Set();
  page.on('request', (request) => { if (request.resourceType() === 'fetch') page.underWay.add(request); });
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => page.underWay.delete(request));
  atEnd(context, async () => {
    await browser.close();
    assert.deepEqual(problems, [], 'nothing goes wrong in the page');
  });
  await page.goto(url);
  return page;
}

/** The page's heading, once it is there. */
export async function heading(page) {
  const heading = page.getByRole('heading', { level: 1 }).first();
  await heading.waitFor();
  return (await heading.textContent()).trim();
}

/** Waits until something holds, and says what is seen meanwhile if it never does. */
export async function until(what, ask) {
  const deadline = performance.now() + SOON;
  for (;;) {
    const seen = await ask();
    if (seen) return seen;
    assert.ok(performance.now() < deadline, `${what}: it is ${JSON.stringify(seen)}`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

/** Waits until a page shows all that it has asked for: nothing is under way, twice in a row. */
export async function settled(page) {
  await heading(page);
  let before = false;
  await until('the page has asked for all that it shows', async () => {
    const quiet = page.underWay.size === 0;
    const twice = quiet && before;
    before = quiet;
    return twice;
  });
  await page.evaluate(() => document.fonts.ready);
}

const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** What of the rules for accessibility (WCAG 2.2 AA) a page violates, a line each. */
export async function violations(page) {
  await page.evaluate(axe);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const result = await page.evaluate((values) => window.axe.run(document, { runOnly: { type: 'tag', values } }), tags);
  return result.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(' ')}: ${node.failureSummary}`));
}
