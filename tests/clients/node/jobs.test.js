'use strict';

const { test } = require('node:test');
const assert = require('node:assert/strict');
const { GROUP, Scheduler, getRequest, refused } = require('./scheduler');

const START = new Date('2027-01-04T09:30:00Z');

test('a new job is answered with its status', async () => {
  const scheduler = await Scheduler.withCollection();
  const endTime = new Date('2028-01-04T09:30:00Z');
  const recurrence = { frequency: 'Week', interval: 2, count: 10, endTime };
  const made = await scheduler.put('one', { startTime: START, recurrence, state: 'Enabled' });
  assert.equal(made.type, 'Microsoft.Scheduler/jobCollections/jobs');
  assert.equal(made.name, 'Jc/one');
  assert.ok(made.id.endsWith('/jobCollections/Jc/jobs/one'));
  const { startTime, recurrence: kept, state, status } = made.properties;
  assert.deepEqual(startTime, START);
  assert.deepEqual({ ...kept }, { frequency: 'week', interval: 2, count: 10, endTime });
  assert.equal(state, 'enabled');
  assert.deepEqual({ ...status }, { nextExecutionTime: START, executionCount: 0, failureCount: 0, faultedCount: 0 });
});

test('a disabled job that never ran has no status', async () => {
  const scheduler = await Scheduler.withCollection();
  assert.equal((await scheduler.put('one', { state: 'Disabled' })).properties.status, undefined);
});

test('put replaces the whole definition', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('one', { startTime: START, recurrence: { frequency: 'Day' } });
  const replaced = await scheduler.put('one', { startTime: START, action: getRequest({ method: 'delete' }) });
  assert.equal(replaced.properties.recurrence, undefined);
  assert.equal(replaced.properties.action.request.method, 'delete');
});

test('patch merges deeply', async () => {
  const scheduler = await Scheduler.withCollection();
  const action = getRequest({ method: 'POST', body: 'hello', headers: { 'X-One': '1' } });
  await scheduler.put('one', { action, startTime: START, recurrence: { frequency: 'Week', count: 5 } });
  const later = new Date('2027-01-05T09:30:00Z');
  const { properties } = await scheduler.patch('one', { startTime: later, recurrence: { frequency: 'Day', interval: 3 } });
  assert.deepEqual({ ...properties.recurrence }, { frequency: 'day', interval: 3, count: 5 });
  assert.equal(properties.action.request.body, 'hello');
  assert.deepEqual(properties.action.request.headers, { 'X-One': '1' });
  assert.deepEqual(properties.status.nextExecutionTime, later);
});

test('patch of the state suspends and resumes', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('one', { recurrence: { frequency: 'Hour' } });
  assert.equal((await scheduler.patch('one', { state: 'Disabled' })).properties.state, 'disabled');
  assert.equal((await scheduler.patch('one', { state: 'Enabled' })).properties.state, 'enabled');
});

test('delete removes the job', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('one');
  await scheduler.jobs.deleteMethod(GROUP, 'Jc', 'one');
  await refused(404, 'NotFound', () => scheduler.get('one'));
});

test('run is answered at once and changes neither schedule nor state', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('one', { startTime: START, recurrence: { frequency: 'Day' } });
  await scheduler.jobs.run(GROUP, 'Jc', 'one');
  const after = (await scheduler.get('one')).properties;
  assert.deepEqual(after.status.nextExecutionTime, START);
  assert.equal(after.state, 'enabled');
});

test('lists are in order and take top, skip and filter', async () => {
  const scheduler = await Scheduler.withCollection();
  for (const name of ['delta', 'Bravo', 'alpha', 'Charlie']) {
    const state = ['alpha', 'delta'].includes(name) ? 'Disabled' : 'Enabled';
    await scheduler.put(name, { state, startTime: START });
  }
  const check = async (query, expected) => assert.deepEqual(await scheduler.names(query), expected);
  await check({}, ['alpha', 'Bravo', 'Charlie', 'delta']);
  await check({ top: 2 }, ['alpha', 'Bravo']);
  await check({ top: 2, skip: 1 }, ['Bravo', 'Charlie']);
  await check({ skip: 3 }, ['delta']);
  await check({ filter: 'state eq Disabled' }, ['alpha', 'delta']);
  await check({ filter: "state eq 'enabled'" }, ['Bravo', 'Charlie']);
  await check({ filter: 'state eq Disabled', top: 1, skip: 1 }, ['delta']);
});

test('history is listed with top, skip and filter', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('one', { startTime: START });
  assert.deepEqual([...(await scheduler.jobs.listJobHistory(GROUP, 'Jc', 'one'))], []);
  const query = { top: 5, skip: 2, filter: 'status eq Failed' };
  assert.deepEqual([...(await scheduler.jobs.listJobHistory(GROUP, 'Jc', 'one', query))], []);
});
