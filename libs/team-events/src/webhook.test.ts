import { expect, it } from 'vitest';
import { buildWebhookSecret, readWebhook } from './webhook.ts';

const webhook = {
  id: '3d6f0f6e-6a0c-4b0e-9c55-0a9f4a1d2b3c',
  name: 'mine',
  url: 'https://example.com/',
  events: ['sandbox.lifecycle.created' as const],
  enabled: true,
  namespace: 'team-a',
  createdAt: '',
  signatureSecret: 'hush',
  accessToken: 'token',
};

it('a webhook is what its Secret says, and nothing of it is outside the data', () => {
  const secret = buildWebhookSecret(webhook, 'hooks');
  expect(readWebhook(secret)).toEqual(webhook);
  expect(JSON.stringify(secret.metadata)).not.toMatch(/hush|token|example/);
});

it.each([
  ['without its label', { metadata: { labels: {} } }],
  ['of another type', { type: 'Opaque' }],
  ['without a secret to sign with', { data: {} }],
])('a Secret %s is no webhook', (_, change) => {
  const secret = buildWebhookSecret(webhook, 'hooks');
  const metadata = { ...secret.metadata, ...('metadata' in change ? change.metadata : {}) };
  expect(readWebhook({ ...secret, ...change, metadata })).toBeUndefined();
});
