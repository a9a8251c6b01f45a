// The editor: every kind of action, problems at their fields, secrets that stay, form and JSON in step.
import assert from 'node:assert/strict';
import test from 'node:test';
import { collectionPath, heading, needing, open, serve, settled, until } from './harness.mjs';

const options = needing(240_000, `${collectionPath('c')}/preview`, `${collectionPath('c')}/jobs/j/diff`);

/** The editor for a new job in the collection `c`. */
async function create(context) {
  const server = await serve(context);
  await server.collection();
  const page = await open(context, `${server.url}/collections/s/g/c/new`);
  assert.equal(await heading(page), 'New job');
  return { server, page };
}

/** Saves, and waits for the page of the job. */
async function save(page, name) {
  await page.getByRole('button', { name: /^(Create|Save)/ }).first().click();
  await until(`the page of ${name}`, async () => new URL(page.url()).pathname === `/jobs/s/g/c/${name}`);
  await page.getByRole('button', { name: 'Run now' }).waitFor();
}

test('from nothing to a job that fired, by the page alone', options, async (context) => {
  const { server, page } = await create(context);
  await page.getByLabel('Name', { exact: true }).fill('first');
  await page.getByLabel('URL').fill(`http://${server.echo}/hello`);
  await page.getByLabel('Unit').selectOption('hour');
  await page.getByText('Every hour', { exact: false }).first().waitFor();
  await save(page, 'first');
  await page.getByText('delivered', { exact: false }).first().waitFor();
  const { properties } = await server.ask('GET', `${collectionPath('c')}/jobs/first`);
  assert.equal(properties.recurrence.frequency.toLowerCase(), 'hour');
});

const KINDS = {
  'a Storage queue': {
    radio: 'Storage queue',
    fields: { 'Storage account': 'devstoreaccount1', Queue: 'reports', 'SAS token': '?sv=2019-02-02&sig=x', Message: 'hello' },
    is: (action) => action.queueMessage.queueName === 'reports',
  },
  'a Service Bus queue': {
    radio: 'Service Bus queue',
    fields: { Namespace: 'local', Queue: 'invoices', 'Key name': 'guest', Key: 'guest', Message: 'hello' },
    is: (action) => action.serviceBusQueueMessage.queueName === 'invoices',
  },
  'a Service Bus topic': {
    radio: 'Service Bus topic',
    fields: { Namespace: 'local', Topic: 'news', 'Key name': 'guest', Key: 'guest', Message: 'hello' },
    is: (action) => action.serviceBusTopicMessage.topicPath === 'news',
  },
};

for (const [what, { radio, fields, is }] of Object.entries(KINDS)) {
  test(`a job for ${what} is made by its fields`, options, async (context) => {
    const { server, page } = await create(context);
    await page.getByLabel('Name', { exact: true }).fill('message');
    await page.getByLabel(radio).check({ force: true });
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
    // Nothing is to be sent from here.
    await page.getByLabel('Enabled: it runs by its schedule').uncheck();
    await save(page, 'message');
    const { properties } = await server.ask('GET', `${collectionPath('c')}/jobs/message`);
    assert.ok(is(properties.action), JSON.stringify(properties.action));
    assert.equal(properties.state.toLowerCase(), 'disabled');
  });
}

test('each problem stands at its field in the words of the server', options, async (context) => {
  const { page } = await create(context);
  await page.getByLabel('Name', { exact: true }).fill('wrong');
  await page.getByLabel('URL').fill('not a url');
  await page.getByLabel('Every', { exact: true }).fill('0');
  await page.getByLabel('Unit').focus();
  for (const label of ['URL', 'Every']) {
    const field = page.getByLabel(label, { exact: true });
    await until(`a problem at ${label}`, async () => (await field.getAttribute('aria-invalid')) === 'true');
    const text = await field.evaluate((one) => one.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id).textContent).join(' '));
    assert.notEqual(text.trim(), '', label);
  }
  const sent = [];
  page.on('request', (request) => { if (request.method() === 'PUT') sent.push(request.url()); });
  await page.getByRole('button', { name: /^Create/ }).first().click();
  // It is not called wrong while somebody is in it.
  await until('the first wrong field has the focus', () => page.getByLabel('URL').evaluate((field) => field === document.activeElement));
  assert.deepEqual(sent, [], 'what is wrong is not sent');
});

/** Types a URL and saves in the same moment, before the page can ask about it. */
function saveAtOnce(page, url) {
  return page.getByLabel('URL').evaluate((field, text) => {
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    [...document.querySelectorAll('button')].find((button) => button.textContent.startsWith('Create')).click();
  }, url);
}

test('what is saved right after the last key is what was looked at', options, async (context) => {
  const { server, page } = await create(context);
  const sent = [];
  page.on('request', (request) => { if (request.method() === 'PUT') sent.push(request.postDataJSON().properties.action.request.uri); });
  await page.getByLabel('Name', { exact: true }).fill('quick');
  const good = `http://${server.echo}/hello`;
  await page.getByLabel('URL').fill(good);
  await page.getByText('Every day', { exact: false }).first().waitFor();
  const looked = page.waitForResponse((answer) => answer.url().includes('/preview') && answer.request().postData().includes('not a url'));
  await saveAtOnce(page, 'not a url');
  assert.equal((await (await looked).json()).valid, false);
  await page.getByRole('button', { name: /^\d+ problems?$/ }).waitFor();
  assert.deepEqual(sent, [], 'what was right before is no reason to send what is wrong now');
  await saveAtOnce(page, good);
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  assert.deepEqual(sent, [good], 'what was wrong before is no reason to refuse what is right now');
});

test('form and JSON stay in step, and what does not parse leaves the form as it was', options, async (context) => {
  const { page } = await create(context);
  await page.getByLabel('URL').fill('https://example.com/a');
  await page.getByRole('tab', { name: 'JSON' }).click();
  const json = page.getByLabel('The job as JSON; editing it changes the form');
  await until('the JSON has the URL', async () => (await json.inputValue()).includes('https://example.com/a'));
  await json.fill((await json.inputValue()).replace('example.com/a', 'example.com/b'));
  await until('the form has the other URL', async () => (await page.getByLabel('URL').inputValue()) === 'https://example.com/b');
  await json.fill('{"action": ');
  await page.getByText('Not JSON yet', { exact: false }).waitFor();
  assert.equal(await page.getByLabel('URL').inputValue(), 'https://example.com/b');
});

test('a secret is never shown, and stays when it is not touched', options, async (context) => {
  const server = await serve(context);
  await server.collection();
  const action = { type: 'Http', request: { method: 'GET', uri: `http://${server.echo}/a`, authentication: { type: 'Basic', username: 'me', password: 'top-secret' } } };
  await server.ask('PUT', `${collectionPath('c')}/jobs/j`, { properties: { action, recurrence: { frequency: 'Day' } } });
  const page = await open(context, `${server.url}/jobs/s/g/c/j/edit`);
  const url = page.getByLabel('URL');
  await url.waitFor();
  assert.ok(!(await page.content()).includes('top-secret'));
  await page.getByLabel('Body').fill('something else');
  await save(page, 'j');
  const { properties } = await server.ask('GET', `${collectionPath('c')}/jobs/j`);
  assert.equal(properties.action.request.body, 'something else');
  assert.equal(properties.action.request.authentication.username, 'me');
  assert.ok(!JSON.stringify(properties).includes('top-secret'));
});

test('an edit says what saving changes', options, async (context) => {
  const server = await serve(context);
  await server.collection();
  await server.job('j', { recurrence: { frequency: 'Day', schedule: { hours: [9], minutes: [0] } } });
  const page = await open(context, `${server.url}/jobs/s/g/c/j/edit`);
  await page.getByLabel('Unit').waitFor();
  await page.getByLabel('Unit').selectOption('hour');
  await page.getByText('What saving changes', { exact: false }).waitFor();
  await page.getByText(/runs more/).waitFor();
});
