// What tests with a real Chromium share: programs that end with their test, web servers, what pages tell, and a browser that
// does what it is told. PUNCTUAL_BINARY is the server's program, CHROMIUM the browser's.
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');

/** A web server on a port of this machine. */
async function serve(listener) {
  const server = http.createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Collects what pages tell, in order. */
class Reports {
  static async start() {
    const reports = new Reports();
    reports.waiting = [];
    reports.came = [];
    reports.server = await serve((request, response) => {
      let text = '';
      request.on('data', (piece) => { text += piece; });
      request.on('end', () => {
        response.end();
        const resolve = reports.waiting.shift();
        if (resolve) resolve(text); else reports.came.push(text);
      });
    });
    return reports;
  }

  /** A script that a page has for telling something. */
  get script() {
    const url = `http://127.0.0.1:${this.server.address().port}/`;
    return `const tell = (text) => fetch('${url}', {method: 'POST', mode: 'no-cors', body: text});`;
  }

  async next() {
    return this.came.length ? this.came.shift() : new Promise((resolve) => { this.waiting.push(resolve); });
  }
}

/**
 * A program with a folder of its own, which is `folder` in its arguments. When the test ends, all of its processes are
 * killed, and only then the folder goes: a program that still runs would write into it. What is not killed keeps the
 * test from ending.
 */
function start(context, program, folder, options) {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), folder.prefix));
  folder.prepare?.(place);
  const env = { ...process.env, ...options.env, TMPDIR: place };
  const child = spawn(program, folder.arguments(place), { ...options, env, detached: true });
  context.after(async () => {
    const gone = child.exitCode !== null || child.signalCode !== null || once(child, 'exit');
    // A process group is named by its first process, also after that one has ended.
    try { process.kill(-child.pid, 'SIGKILL'); } catch (error) { if (error.code !== 'ESRCH') throw error; }
    await gone;
    fs.rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  return child;
}

const CHROMIUM_OPTIONS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-quic',
  '--host-resolver-rules=MAP *.test 127.0.0.1',
];

/** A browser that shows a page. Every name of the domain `test` leads to this machine. */
function browse(context, url) {
  start(context, process.env.CHROMIUM, {
    prefix: 'punctual-browser-',
    arguments: (profile) => [...CHROMIUM_OPTIONS, `--user-data-dir=${profile}`, url],
  }, { stdio: 'ignore' });
}

/** A browser that does what it is told, by the DevTools protocol over a pipe: JSON with a zero byte behind each message. */
class Browser {
  constructor(context) {
    this.child = start(context, process.env.CHROMIUM, {
      prefix: 'punctual-browser-',
      arguments: (profile) => [...CHROMIUM_OPTIONS, `--user-data-dir=${profile}`, '--remote-debugging-pipe', 'about:blank'],
    }, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.count = 0;
    this.waiting = new Map();
    this.listeners = new Set();
    let rest = '';
    this.child.stdio[4].setEncoding('utf8').on('data', (piece) => {
      const messages = (rest + piece).split('\0');
      rest = messages.pop();
      messages.forEach((message) => this.receive(JSON.parse(message)));
    });
    // It is killed while something may still be on its way.
    this.child.stdio[3].on('error', () => {});
  }

  receive(message) {
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (waiting) return message.error ? waiting.reject(new Error(message.error.message)) : waiting.resolve(message.result);
    for (const listener of this.listeners) listener(message);
    return undefined;
  }

  send(method, params = {}, sessionId = undefined) {
    this.count += 1;
    const id = this.count;
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => { this.waiting.set(id, { resolve, reject }); });
  }

  /** A new tab. */
  async tab() {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, sessionId);
    await tab.send('Page.enable');
    return tab;
  }
}

class Tab {
  constructor(browser, id) {
    this.browser = browser;
    this.id = id;
  }

  send(method, params) {
    return this.browser.send(method, params, this.id);
  }

  /** Waits until a page was loaded of whose address something holds. */
  loaded(holds) {
    return new Promise((resolve) => {
      let url;
      const listener = ({ sessionId, method, params }) => {
        if (sessionId !== this.id) return;
        if (method === 'Page.frameNavigated' && !params.frame.parentId) url = params.frame.url;
        if (method === 'Page.loadEventFired' && url && holds(url)) {
          this.browser.listeners.delete(listener);
          resolve(url);
        }
      };
      this.browser.listeners.add(listener);
    });
  }

  /** Goes to an address as if somebody had written it; waits for the page there, or for another one that comes of it. */
  async go(url, holds = (at) => at !== 'about:blank') {
    const loaded = this.loaded(holds);
    await this.send('Page.navigate', { url });
    return loaded;
  }

  /** What a script of the page comes to. */
  async run(script) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression: script, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** The cookies that the browser has for an address. */
  async cookies(url) {
    return (await this.send('Network.getCookies', { urls: [url] })).cookies;
  }
}

/** A port that nobody uses. */
async function freePort() {
  const free = await serve(() => {});
  const { port } = free.address();
  free.close();
  await once(free, 'close');
  return port;
}

/** A server on a port; `prepare` and `options` get its data directory. */
async function punctual(context, port, environment, { prepare, options = () => [] } = {}) {
  const server = start(context, process.env.PUNCTUAL_BINARY, {
    prefix: 'punctual-data-',
    prepare,
    arguments: (data) => ['serve', '--role', 'api', '--listen', `127.0.0.1:${port}`, '--data', data, ...options(data)],
  }, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server.stdout, 'data');
}

/** Makes the token of an owner in a data directory. */
function createToken(data) {
  const options = ['token', 'create', 'admin', '--role', 'owner', '--scope', '/', '--data', data];
  return execFileSync(process.env.PUNCTUAL_BINARY, options, { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' }).trim();
}

/** What the server itself says, asked by no browser. */
async function ask(port, method, target, body) {
  const answer = await fetch(`http://127.0.0.1:${port}${target}`, { method, body });
  return { status: answer.status, body: await answer.json().catch(() => null) };
}

module.exports = { Browser, Reports, ask, browse, createToken, freePort, punctual, serve, start };
