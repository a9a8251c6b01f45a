'use strict';

const { test } = require('node:test');
const assert = require('node:assert/strict');
const { GROUP, Scheduler, getRequest, refused } = require('./scheduler');

test('a missing collection is not found', async () => {
  const { collections } = new Scheduler();
  const message = await refused(404, 'ResourceNotFound', () => collections.get(GROUP, 'nothing'));
  const expected = `The Resource 'Microsoft.Scheduler/jobcollections/nothing' under resource group '${GROUP}' was not found.`;
  assert.equal(message, expected);
});

test('a missing job is not found', async () => {
  const scheduler = await Scheduler.withCollection();
  assert.equal(await refused(404, 'NotFound', () => scheduler.get('nothing')), "Job 'nothing' cannot be found.");
  await refused(404, 'NotFound', () => scheduler.jobs.deleteMethod(GROUP, 'Jc', 'nothing'));
});

test('everything under a missing collection is not found', async () => {
  const { jobs, collections } = new Scheduler();
  const job = { properties: { action: getRequest() } };
  const calls = [
    () => jobs.createOrUpdate(GROUP, 'nothing', 'one', job),
    () => jobs.patch(GROUP, 'nothing', 'one', job),
    () => jobs.get(GROUP, 'nothing', 'one'),
    () => jobs.deleteMethod(GROUP, 'nothing', 'one'),
    () => jobs.run(GROUP, 'nothing', 'one'),
    () => jobs.list(GROUP, 'nothing'),
    () => jobs.listJobHistory(GROUP, 'nothing', 'one'),
    () => collections.enable(GROUP, 'nothing'),
    () => collections.disable(GROUP, 'nothing'),
    () => collections.deleteMethod(GROUP, 'nothing'),
  ];
  for (const call of calls) await refused(404, 'ResourceNotFound', call);
});

test('a full collection refuses another job', async () => {
  const scheduler = new Scheduler();
  await scheduler.putCollection('Jc', { quota: { maxJobCount: 1 } });
  await scheduler.put('one');
  const message = await refused(409, 'Conflict', () => scheduler.put('two'));
  assert.match(message, /reached its quota of '1'/);
});

test('a second free collection, a fast job and authentication are refused on free', async () => {
  const scheduler = new Scheduler();
  await scheduler.putCollection('Jc', { sku: 'Free' });
  await refused(409, 'Conflict', () => scheduler.putCollection('other', { sku: 'Free' }));
  await refused(409, 'Conflict', () => scheduler.put('one', { recurrence: { frequency: 'Minute' } }));
  const authentication = { type: 'Basic', username: 'u', password: 'p' };
  await refused(409, 'Conflict', () => scheduler.put('one', { action: getRequest({ authentication }) }));
});

test('running in a disabled collection is refused', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('one');
  await scheduler.collections.disable(GROUP, 'Jc');
  const message = await refused(409, 'Conflict', () => scheduler.jobs.run(GROUP, 'Jc', 'one'));
  assert.equal(message, "The job collection 'Jc' is not enabled.");
});

test('all problems of a job are told at once', async () => {
  const scheduler = await Scheduler.withCollection();
  const action = { ...getRequest({ uri: 'ftp://example.com', method: 'BREW' }), retryPolicy: { retryCount: 99 } };
  const recurrence = { frequency: 'Week', interval: 79, schedule: { monthDays: [1] } };
  const message = await refused(400, 'BadRequest', () => scheduler.put('one', { action, recurrence }));
  for (const part of [
    'properties.action.request.uri',
    'properties.action.request.method',
    'properties.action.retryPolicy.retryCount',
    'properties.recurrence.interval',
    "Cannot set days of month with recurrence unit 'Week'.",
  ]) {
    assert.ok(message.includes(part), `${part} in ${message}`);
  }
});

test('a job without properties is refused', async () => {
  const scheduler = await Scheduler.withCollection();
  await refused(400, 'BadRequest', () => scheduler.jobs.createOrUpdate(GROUP, 'Jc', 'one', {}));
});
