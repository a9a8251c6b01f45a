// The official Node client as an application uses it, with a subscription of its own for each test.
'use strict';

const { randomUUID } = require('node:crypto');
const assert = require('node:assert/strict');
const { TokenCredentials } = require('ms-rest');
const SchedulerManagementClient = require('azure-arm-scheduler');

const GROUP = 'Clients';

/** A client of Punctual; `seen` is called with the text of every answer. */
function connect(url, subscription, seen) {
  const watch = (resource, next, callback) =>
    next(resource, (error, response, body) => {
      seen(body || '');
      callback(error, response, body);
    });
  return new SchedulerManagementClient(new TokenCredentials('any'), subscription, url, { filters: [watch] });
}

class Scheduler {
  constructor() {
    this.answers = [];
    this.subscription = randomUUID();
    this.client = connect(process.env.PUNCTUAL_URL, this.subscription, (text) => this.answers.push(text));
    this.collections = this.client.jobCollections;
    this.jobs = this.client.jobs;
  }

  /** A scheduler with an empty collection `Jc`. */
  static async withCollection() {
    const scheduler = new Scheduler();
    await scheduler.putCollection();
    return scheduler;
  }

  putCollection(name = 'Jc', { sku = 'Standard', state, quota, ...others } = {}) {
    const properties = { sku: { name: sku }, state, quota };
    return this.collections.createOrUpdate(GROUP, name, { location: 'westus', properties, ...others });
  }

  put(name, { action = getRequest(), collection = 'Jc', ...properties } = {}) {
    return this.jobs.createOrUpdate(GROUP, collection, name, { properties: { action, ...properties } });
  }

  patch(name, properties) {
    return this.jobs.patch(GROUP, 'Jc', name, { properties });
  }

  get(name, collection = 'Jc') {
    return this.jobs.get(GROUP, collection, name);
  }

  list(query = {}) {
    return this.jobs.list(GROUP, 'Jc', query);
  }

  async names(query) {
    return (await this.list(query)).map((job) => job.name.split('/')[1]);
  }

  /** Reads a job, puts it back as it was read, and reads it again: nothing may change. */
  async checkKept(name) {
    const read = await this.get(name);
    await this.jobs.createOrUpdate(GROUP, 'Jc', name, { properties: read.properties });
    assert.deepEqual(plain(await this.get(name)), plain(read));
    return read.properties;
  }

  /** Checks that no answer ever held a text. */
  checkNeverShown(secret) {
    assert.ok(this.answers.length > 0);
    for (const answer of this.answers) assert.ok(!answer.includes(secret), answer);
  }
}

/** An action that gets a page. */
function getRequest(request = {}) {
  return { type: 'Http', request: { uri: 'https://example.com/hook', method: 'GET', ...request } };
}

function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

/** Checks that a call ends with an error of this status and code; answers its message. */
async function refused(status, code, call) {
  let message;
  await assert.rejects(call, (error) => {
    assert.equal(error.statusCode, status);
    assert.equal(error.code, code);
    message = error.message;
    return true;
  });
  return message;
}

module.exports = { GROUP, Scheduler, getRequest, plain, refused };
