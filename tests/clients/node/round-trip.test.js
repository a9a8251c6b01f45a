// What is read and put back must not change: every action, authentication, schedule and duration.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const assert = require('node:assert/strict');
const moment = require('moment');
const { Scheduler, getRequest, plain } = require('./scheduler');

const START = new Date('2026-11-16T09:30:00Z');
const SECRET = 'Tr0ub4dor-and-3';

for (const written of ['PT15S', 'PT1M', 'PT23H59S', 'P2D', 'P30DT1H']) {
  test(`a retry interval of ${written} survives reading and writing`, async () => {
    const scheduler = await Scheduler.withCollection();
    const retryInterval = moment.duration(written);
    const action = { ...getRequest(), retryPolicy: { retryType: 'Fixed', retryInterval, retryCount: 3 } };
    await scheduler.put('one', { action, startTime: START });
    const kept = (await scheduler.checkKept('one')).action.retryPolicy;
    const listed = (await scheduler.list())[0].properties.action.retryPolicy;
    for (const read of [kept, listed]) {
      assert.equal(moment.duration(read.retryInterval).asSeconds(), retryInterval.asSeconds());
      assert.equal(read.retryCount, 3);
    }
  });
}

test('monthly occurrences survive reading and writing', async () => {
  const scheduler = await Scheduler.withCollection();
  const monthlyOccurrences = [{ day: 'Monday', occurrence: 1 }, { day: 'Friday', occurrence: -1 }];
  const recurrence = { frequency: 'Month', schedule: { hours: [5], minutes: [0], monthlyOccurrences } };
  const made = await scheduler.put('one', { startTime: START, recurrence });
  assert.deepEqual(made.properties.status.nextExecutionTime, new Date('2026-11-27T05:00:00Z'));
  const kept = await scheduler.checkKept('one');
  const listed = (await scheduler.list())[0].properties;
  for (const read of [kept, listed]) {
    assert.deepEqual(plain(read.recurrence.schedule.monthlyOccurrences), [
      { day: 'monday', occurrence: 1 },
      { day: 'friday', occurrence: -1 },
    ]);
  }
});

const SCHEDULES = [
  ['Day', { hours: [5, 17], minutes: [0, 30] }, '2026-11-16T17:00:00Z'],
  ['Hour', { minutes: [15, 45] }, '2026-11-16T09:45:00Z'],
  ['Week', { weekDays: ['monday', 'wednesday'], hours: [8], minutes: [0] }, '2026-11-18T08:00:00Z'],
  ['Month', { monthDays: [1, -1], hours: [0], minutes: [0] }, '2026-11-30T00:00:00Z'],
];
for (const [frequency, schedule, expected] of SCHEDULES) {
  test(`a schedule by ${frequency} survives and says when the job runs`, async () => {
    const scheduler = await Scheduler.withCollection();
    const made = await scheduler.put('one', { startTime: START, recurrence: { frequency, schedule } });
    assert.deepEqual(made.properties.status.nextExecutionTime, new Date(expected));
    assert.deepEqual(plain((await scheduler.checkKept('one')).recurrence.schedule), schedule);
  });
}

test('http requests survive as they were sent', async () => {
  const scheduler = await Scheduler.withCollection();
  const request = {
    uri: 'http://example.com/a%2db?q=1',
    method: 'pOsT',
    headers: { 'ConTent-tYPe': 'application/xml' },
    body: '<a>ü 漢 \u2028</a>',
  };
  await scheduler.put('one', { action: getRequest(request), startTime: START });
  assert.deepEqual(plain((await scheduler.checkKept('one')).action.request), request);
});

const bus = {
  namespace: 'namespace',
  transportType: 'netMessaging',
  authentication: { sasKey: SECRET, sasKeyName: 'RootManageSharedAccessKey', type: 'sharedAccessKey' },
  message: 'some message!',
  brokeredMessageProperties: { contentType: 'text/plain', label: 'l', messageId: 'm', forcePersistence: true },
  customMessageProperties: { Key: 'value' },
};
const KINDS = [
  { type: 'Https', request: { uri: 'https://example.com/', method: 'PUT', body: 'x' } },
  {
    type: 'StorageQueue',
    queueMessage: { storageAccount: 'account', queueName: 'queue1', sasToken: SECRET, message: 'some message!' },
  },
  { type: 'ServiceBusQueue', serviceBusQueueMessage: { ...bus, queueName: 'queue1' } },
  { type: 'ServiceBusTopic', serviceBusTopicMessage: { ...bus, topicPath: 'topic/1' } },
];
function withoutSecrets(value) {
  const secrets = ['sasToken', 'sasKey'];
  return JSON.parse(JSON.stringify(value, (key, one) => (secrets.includes(key) ? undefined : one)));
}
for (const kind of KINDS) {
  test(`an action of type ${kind.type} is kept but for its secret, and so as an error action`, async () => {
    const scheduler = await Scheduler.withCollection();
    const action = { ...kind, errorAction: kind };
    const made = await scheduler.put('one', { action, startTime: START });
    assert.deepEqual(plain(made.properties.action), withoutSecrets(action));
    const listed = (await scheduler.list())[0];
    assert.deepEqual(plain(listed.properties.action), withoutSecrets(action));
    scheduler.checkNeverShown(SECRET);
  });
}

test('basic authentication and oauth keep their secrets to themselves', async () => {
  const scheduler = await Scheduler.withCollection();
  const basic = { type: 'Basic', username: 'user', password: SECRET };
  let made = await scheduler.put('one', { action: getRequest({ authentication: basic }), startTime: START });
  assert.deepEqual(plain(made.properties.action.request.authentication), { type: 'Basic', username: 'user' });
  // A password that is not mentioned stays, so that what was read can be patched back.
  made = await scheduler.patch('one', { action: made.properties.action });
  assert.equal(made.properties.action.request.authentication.username, 'user');
  const shown = { type: 'ActiveDirectoryOAuth', tenant: 'contoso.com', audience: 'https://a/', clientId: 'id' };
  const oauth = { ...shown, secret: SECRET };
  made = await scheduler.put('two', { action: getRequest({ authentication: oauth }), startTime: START });
  assert.deepEqual(plain(made.properties.action.request.authentication), shown);
  scheduler.checkNeverShown(SECRET);
});

test('a client certificate is opened and described', async (context) => {
  const cwd = fs.mkdtempSync(path.join(os.tmpdir(), 'pfx-'));
  context.after(() => fs.rmSync(cwd, { recursive: true }));
  const openssl = (command) => execFileSync('openssl', command.split(' '), { cwd, stdio: 'pipe' }).toString();
  openssl('req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 30 -subj /C=US/ST=Some-State/CN=client');
  openssl(`pkcs12 -export -inkey key.pem -in cert.pem -out client.pfx -passout pass:${SECRET}`);
  const thumbprint = openssl('x509 -in cert.pem -noout -fingerprint -sha1').trim().split('=')[1].replaceAll(':', '');
  const pfx = fs.readFileSync(path.join(cwd, 'client.pfx')).toString('base64');
  const scheduler = await Scheduler.withCollection();
  const authentication = { type: 'ClientCertificate', pfx, password: SECRET };
  const made = await scheduler.put('one', { action: getRequest({ authentication }), startTime: START });
  const shown = made.properties.action.request.authentication;
  assert.equal(shown.certificateThumbprint, thumbprint);
  assert.equal(shown.certificateSubjectName, 'CN=client, S=Some-State, C=US');
  assert.ok(shown.certificateExpirationDate instanceof Date);
  assert.deepEqual([shown.pfx, shown.password], [undefined, undefined]);
  scheduler.checkNeverShown(SECRET);
  scheduler.checkNeverShown(pfx.slice(0, 40));
});
