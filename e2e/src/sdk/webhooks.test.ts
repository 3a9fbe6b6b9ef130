import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { WebhookReceiver } from '../support/webhooks/receiver.ts';
import { eventually } from '../support/team.ts';

const SECRET = 'e2e-signature-secret';

let receiver: WebhookReceiver;
let access: Access;
beforeAll(async () => {
  access = await readAccess();
  receiver = await WebhookReceiver.start();
});
afterAll(() => receiver[Symbol.asyncDispose]());

async function call(method: string, path: string, { body, key = access.apiKey }: { body?: object; key?: string } = {}) {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${access.apiUrl}${path}`, { method, headers: { 'X-API-Key': key }, ...init });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as unknown };
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly sandboxId: string;
  readonly eventData: { readonly sandbox_metadata?: object } | null;
}

const listTypes = (events: readonly Event[]): readonly string[] =>
  events.map(({ type }) => type.replace('sandbox.lifecycle.', ''));

it('what happens to a sandbox of the stock client arrives at a webhook, signed, and is listed afterwards', async () => {
  const events = ['created', 'paused', 'killed'].map((label) => `sandbox.lifecycle.${label}`);
  const wish = { name: 'e2e', url: receiver.url, events, signatureSecret: SECRET };
  const created = await call('POST', '/events/webhooks', { body: wish });
  expect(created.status).toBe(201);
  const { id } = created.body as { id: string };
  try {
    const sandbox = await openSandbox({ metadata: { purpose: 'webhooks' } });
    await sandbox.pause();
    await sandbox.kill();
    const mine = await eventually('the webhook got three events', async () => {
      const bodies = receiver.got.map(({ body }) => JSON.parse(body) as Event);
      const own = bodies.filter(({ sandboxId }) => sandboxId === sandbox.sandboxId);
      return new Set(own.map(({ type }) => type)).size === 3 ? own : undefined;
    });
    for (const { eventData } of mine) expect(eventData?.sandbox_metadata).toEqual({ purpose: 'webhooks' });
    for (const { headers, body } of receiver.got) {
      expect(headers['e2b-webhook-id']).toBe(id);
      expect(headers['e2b-signature']).toBe(createHash('sha256').update(SECRET).update(body).digest('base64url'));
    }
    const { body } = await call('GET', `/events/sandboxes/${sandbox.sandboxId}?orderAsc=true`);
    const listed = body as Event[];
    expect(listTypes(listed)).toEqual(['created', 'paused', 'killed']);
    expect(new Set(mine.map((event) => event.id))).toEqual(new Set(listed.map((event) => event.id)));
    const foreign = await readAccess('E2B_API_KEY_2');
    const path = `/events/sandboxes/${sandbox.sandboxId}`;
    expect((await call('GET', path, { key: foreign.apiKey })).body).toEqual([]);
    const deliveries = await eventually('all deliveries have succeeded', async () => {
      const page = (await call('GET', `/events/webhooks/${id}/deliveries?deliveryStatus=succeeded`)).body;
      const { data } = page as { data: Event[] };
      return data.filter(({ sandboxId }) => sandboxId === sandbox.sandboxId).length === 3 ? data : undefined;
    });
    expect(deliveries.length).toBeGreaterThanOrEqual(3);
    const paused = await call('PATCH', `/events/webhooks/${id}`, { body: { enabled: false } });
    expect(paused).toMatchObject({ status: 200, body: { id, enabled: false } });
  } finally {
    expect((await call('DELETE', `/events/webhooks/${id}`)).status).toBe(200);
  }
});

it('a webhook cannot be an address of the cluster', async () => {
  const wish = { name: 'e2e', events: ['sandbox.lifecycle.created'], signatureSecret: SECRET };
  for (const target of ['http://sandlot-api.sandlot-system.svc/', 'http://10.96.0.1/', 'http://169.254.169.254/']) {
    const { status, body } = await call('POST', '/events/webhooks', { body: { ...wish, url: target } });
    expect([status, body]).toMatchObject([400, { message: 'webhook url must be a public address' }]);
  }
});
