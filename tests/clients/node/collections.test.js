'use strict';

const { test } = require('node:test');
const assert = require('node:assert/strict');
const { GROUP, Scheduler, plain, refused } = require('./scheduler');

// How many collections the server puts on one page.
const PAGE = 1000;

test('a new collection is answered in canonical form', async () => {
  const scheduler = new Scheduler();
  const quota = { maxJobCount: 50, maxRecurrence: { frequency: 'Minute', interval: 1 } };
  const made = await scheduler.putCollection('Jc', { sku: 'standard', quota, tags: { department: 'marketing' } });
  assert.deepEqual(plain(made), {
    id: `/subscriptions/${scheduler.subscription}/resourceGroups/${GROUP}/providers/Microsoft.Scheduler/jobCollections/Jc`,
    type: 'Microsoft.Scheduler/jobCollections',
    name: 'Jc',
    location: 'West US',
    tags: { department: 'marketing' },
    properties: {
      sku: { name: 'Standard' },
      state: 'Enabled',
      quota: { maxJobCount: 50, maxRecurrence: { frequency: 'minute', interval: 1 } },
    },
  });
  assert.deepEqual(plain(await scheduler.collections.get(GROUP, 'Jc')), plain(made));
});

test('put replaces and leaves the jobs alone', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('one');
  await scheduler.putCollection('Jc', { sku: 'P10Premium', quota: { maxJobCount: 7 }, tags: { a: '1' } });
  const changed = await scheduler.putCollection('Jc', { sku: 'P20Premium', state: 'Suspended', tags: { b: '2' } });
  assert.deepEqual(changed.tags, { b: '2' });
  assert.deepEqual(plain(changed.properties), { sku: { name: 'P20Premium' }, state: 'Suspended' });
  assert.deepEqual(await scheduler.names(), ['one']);
});

test('patch changes only what it mentions', async () => {
  const scheduler = new Scheduler();
  const before = await scheduler.putCollection('Jc', { tags: { department: 'marketing' } });
  const after = await scheduler.collections.patch(GROUP, 'Jc', { tags: { department: 'sales' } });
  assert.deepEqual(plain(after), { ...plain(before), tags: { department: 'sales' } });
});

test('a collection that is read and put back is the same', async () => {
  const scheduler = new Scheduler();
  const quota = { maxJobCount: 9, maxRecurrence: { frequency: 'Week', interval: 2 } };
  await scheduler.putCollection('Jc', { quota, tags: { a: '1' }, state: 'Disabled' });
  const read = await scheduler.collections.get(GROUP, 'Jc');
  assert.deepEqual(plain(await scheduler.collections.createOrUpdate(GROUP, 'Jc', read)), plain(read));
});

test('lists are by subscription and by group, in order', async () => {
  const scheduler = new Scheduler();
  for (const name of ['beta', 'Alpha', 'gamma']) await scheduler.putCollection(name);
  const names = (list) => list.map((one) => one.name);
  assert.deepEqual(names(await scheduler.collections.listByResourceGroup(GROUP)), ['Alpha', 'beta', 'gamma']);
  assert.deepEqual(names(await scheduler.collections.listBySubscription()), ['Alpha', 'beta', 'gamma']);
  assert.deepEqual(names(await scheduler.collections.listByResourceGroup('elsewhere')), []);
});

test('pages are followed to the end', async () => {
  const scheduler = new Scheduler();
  const names = Array.from({ length: PAGE + 1 }, (_, number) => `jc${String(number).padStart(4, '0')}`);
  for (let first = 0; first < names.length; first += 50) {
    const batch = names.slice(first, first + 50);
    await Promise.all(batch.map((name) => scheduler.putCollection(name, { sku: 'P20Premium' })));
  }
  let page = await scheduler.collections.listBySubscription();
  const found = [...page];
  while (page.nextLink) {
    page = await scheduler.collections.listBySubscriptionNext(page.nextLink);
    found.push(...page);
  }
  assert.deepEqual(found.map((one) => one.name), names);
});

test('disable and enable finish at once and keep what the user disabled', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('on', { recurrence: { frequency: 'Day' } });
  await scheduler.put('off', { recurrence: { frequency: 'Day' }, state: 'Disabled' });
  await scheduler.collections.disable(GROUP, 'Jc');
  assert.equal((await scheduler.collections.get(GROUP, 'Jc')).properties.state, 'Disabled');
  const held = (await scheduler.get('on')).properties;
  assert.equal(held.state, 'enabled');
  assert.equal(held.status.nextExecutionTime, undefined);
  await scheduler.collections.enable(GROUP, 'Jc');
  assert.equal((await scheduler.collections.get(GROUP, 'Jc')).properties.state, 'Enabled');
  assert.ok((await scheduler.get('on')).properties.status.nextExecutionTime);
  assert.equal((await scheduler.get('off')).properties.state, 'disabled');
});

test('delete takes the jobs along', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('one');
  await scheduler.collections.deleteMethod(GROUP, 'Jc');
  await refused(404, 'ResourceNotFound', () => scheduler.collections.get(GROUP, 'Jc'));
  await scheduler.putCollection();
  assert.deepEqual(await scheduler.names(), []);
});

test('names are found in any letter case and keep their own', async () => {
  const scheduler = await Scheduler.withCollection();
  await scheduler.put('MyJob');
  assert.equal((await scheduler.collections.get(GROUP.toUpperCase(), 'JC')).name, 'Jc');
  assert.equal((await scheduler.jobs.get(GROUP.toLowerCase(), 'jc', 'MYJOB')).name, 'Jc/MyJob');
  await scheduler.put('myjob', { state: 'Disabled' });
  assert.deepEqual(await scheduler.names(), ['MyJob']);
});
