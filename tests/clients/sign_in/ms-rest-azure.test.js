// ms-rest-azure with the official Node client: the sign-in code of an application, told where the cloud is.
'use strict';

const { randomUUID } = require('node:crypto');
const assert = require('node:assert/strict');
const test = require('node:test');
const { AzureEnvironment, loginWithServicePrincipalSecret } = require('ms-rest-azure');
const SchedulerManagementClient = require('azure-arm-scheduler');

const url = process.env.PUNCTUAL_URL;
const clientId = process.env.PUNCTUAL_CLIENT_ID;
const secret = process.env.PUNCTUAL_CLIENT_SECRET;

const environment = AzureEnvironment.add({
  name: 'Punctual',
  portalUrl: url,
  managementEndpointUrl: url,
  resourceManagerEndpointUrl: `${url}/`,
  activeDirectoryEndpointUrl: `${url}/`,
  activeDirectoryResourceId: `${url}/`,
  validateAuthority: false,
});

test('a service principal signs in and sees its subscriptions', async () => {
  const { credentials, subscriptions } = await new Promise((resolve, reject) => {
    loginWithServicePrincipalSecret(clientId, secret, 'punctual', { environment }, (error, credentials, subscriptions) =>
      error ? reject(error) : resolve({ credentials, subscriptions }),
    );
  });
  assert.ok(subscriptions.map((one) => one.id).includes('00000000-0000-4000-8000-000000000001'));
  const client = new SchedulerManagementClient(credentials, randomUUID(), url);
  await client.jobCollections.createOrUpdate('Clients', 'Jc', { location: 'westus' });
  const found = await client.jobCollections.listBySubscription();
  assert.deepEqual(found.map((one) => one.name), ['Jc']);
});

test('a wrong secret is told as such', async () => {
  await assert.rejects(
    loginWithServicePrincipalSecret(clientId, 'wrong', 'punctual', { environment }),
    /don't belong to a token of this server/,
  );
});
