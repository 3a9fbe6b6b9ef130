import { createHash, randomUUID } from 'node:crypto';
import type { Webhook } from '@sandlot/team-events';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Receiver, Stage } from '../test/stage.ts';
import type { Running } from '../test/stage.ts';

const PATIENCE = { timeout: 90_000, interval: 50 };
const open = new AsyncDisposableStack();
let stage: Stage;
let ports: Record<string, string>;
let process: Running;
const receivers: Record<'up' | 'failing' | 'hanging' | 'other' | 'late', Receiver> = {} as never;

beforeAll(async () => {
  stage = open.use(await Stage.start());
  for (const name of ['up', 'failing', 'hanging', 'other', 'late'] as const)
    receivers[name] = open.use(await Receiver.start());
  receivers.failing.status = 500;
  receivers.hanging.status = undefined;
  ports = {
    WEBHOOK_PORTS: Object.values(receivers)
      .map(({ port }) => port)
      .join(','),
  };
  process = await stage.run(ports);
});
afterAll(() => open.disposeAsync());

interface Asked {
  readonly method?: string;
  readonly token?: string;
}

const ask = async (webhook: Webhook, path: string, { method = 'GET', token = webhook.accessToken }: Asked = {}) => {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${process.url}/webhooks/${webhook.id}/${path}`, { method, headers });
  const body = (await response.json()) as { data: { eventId: string; status: string; attempts: object[] }[] };
  return { status: response.status, body };
};

describe('a webhook', () => {
  it('gets the events of its team that it asks for, signed, and those of no other team', async () => {
    const { up, other } = receivers;
    await stage.register(up.url, { events: ['sandbox.lifecycle.killed'] });
    await stage.register(other.url, { namespace: 'team-b' });
    await stage.publish('claim.resumed');
    await stage.publish('claim.deleted', { client: { id: 'mine', template: 'base', metadata: { a: 'b' } } });
    await stage.publish('claim.resumed', { namespace: 'team-b' });
    await vi.waitFor(() => expect([up.got.length, other.got.length]).toEqual([1, 1]), PATIENCE);
    const [{ headers, body } = { headers: {}, body: '' }] = up.got;
    const signature = createHash('sha256').update(`hush${body}`).digest('base64url');
    expect(headers).toMatchObject({
      'e2b-signature': signature,
      'e2b-signature-version': 'v1',
      'content-type': 'application/json',
    });
    expect(JSON.parse(body)).toMatchObject({
      type: 'sandbox.lifecycle.killed',
      sandboxId: 'mine',
      eventData: { sandbox_metadata: { a: 'b' } },
    });
    expect(JSON.parse(other.got[0]?.body ?? '')).toMatchObject({ type: 'sandbox.lifecycle.resumed' });
  });

  it('that fails is tried four times, then is a dead letter that a replay sends again; its neighbours wait for nothing', async () => {
    const { failing, hanging, up } = receivers;
    const webhook = await stage.register(failing.url, { namespace: 'team-c' });
    await stage.register(hanging.url, { namespace: 'team-c' });
    await stage.register(up.url, { namespace: 'team-d' });
    const before = up.got.length;
    for (let count = 0; count < 6; count += 1) await stage.publish('claim.resumed', { namespace: 'team-c' });
    await stage.publish('claim.resumed', { namespace: 'team-d' });
    await vi.waitFor(() => expect(up.got.length).toBe(before + 1), PATIENCE);
    await vi.waitFor(() => expect(hanging.got.length).toBeGreaterThan(0), PATIENCE);
    await vi.waitFor(async () => {
      const { body } = await ask(webhook, 'deliveries?deliveryStatus=failed');
      expect(body.data.length).toBeGreaterThan(0);
    }, PATIENCE);
    const [dead] = (await ask(webhook, 'deliveries?deliveryStatus=failed')).body.data;
    expect(dead?.attempts).toHaveLength(4);
    expect(dead?.attempts[0]).toMatchObject({ statusCode: 500, error: 'status 500' });
    failing.status = 200;
    const path = `deliveries/${dead?.eventId ?? ''}/replay`;
    expect((await ask(webhook, path, { method: 'POST', token: 'stolen' })).status).toBe(401);
    expect((await ask(webhook, path, { method: 'POST' })).status).toBe(202);
    await vi.waitFor(async () => {
      const { body } = await ask(webhook, 'deliveries?deliveryStatus=succeeded&limit=100');
      expect(body.data.map(({ eventId }) => eventId)).toContain(dead?.eventId);
    }, PATIENCE);
    expect((await ask(webhook, `deliveries/${webhook.id}/replay`, { method: 'POST' })).status).toBe(404);
    expect((await ask(webhook, 'stats')).body).toMatchObject({ total: 6 });
  });

  it('gets events that the process read before it knew of the webhook', async () => {
    const { other, up } = receivers;
    const first = await stage.register(up.url, { namespace: 'team-i' });
    await stage.publish('claim.resumed', { namespace: 'team-i' });
    await vi.waitFor(() => expect(up.count(first)).toEqual([1]), PATIENCE);
    // The time of the event is later than that of the registration, as if the watch were slow.
    const second = await stage.register(other.url, { namespace: 'team-i' });
    await vi.waitFor(() => expect(other.count(second)).toEqual([1]), PATIENCE);
    await stage.publish('claim.suspended', { namespace: 'team-i' });
    await vi.waitFor(() => expect([...up.count(first), ...other.count(second)]).toEqual([1, 1, 1, 1]), PATIENCE);
  });

  it('that is deleted leaves nothing behind', async () => {
    const { late } = receivers;
    late.status = 503;
    const webhook = await stage.register(late.url, { namespace: 'team-e' });
    await stage.publish('claim.resumed', { namespace: 'team-e' });
    await vi.waitFor(() => expect(late.got.length).toBeGreaterThan(0), PATIENCE);
    await stage.unregister(webhook);
    await vi.waitFor(async () => {
      expect((await stage.listKeys()).filter((key) => key.includes(webhook.id))).toEqual([]);
    }, PATIENCE);
    late.status = 200;
  });
});

describe('nothing is lost', () => {
  it('when the process is killed during a delivery: the next one sends it again, with the same id', async () => {
    const { late } = receivers;
    late.status = undefined;
    late.got.length = 0;
    const webhook = await stage.register(late.url, { namespace: 'team-f' });
    await stage.publish('claim.resumed', { namespace: 'team-f' });
    await vi.waitFor(() => expect(late.count(webhook)).toEqual([1]), PATIENCE);
    await process.kill();
    late.status = 200;
    process = await stage.run(ports);
    await vi.waitFor(() => expect(late.count(webhook)).toEqual([2]), PATIENCE);
  });

  it('when Redis loses its data while a receiver is down: what had not ended is read from the stream again', async () => {
    const { late } = receivers;
    late.status = 503;
    late.got.length = 0;
    const webhook = await stage.register(late.url, { namespace: 'team-g' });
    await stage.publish('claim.resumed', { namespace: 'team-g' });
    await vi.waitFor(() => expect(late.count(webhook)).toHaveLength(1), PATIENCE);
    await stage.flushRedis();
    late.got.length = 0;
    late.status = 200;
    await vi.waitFor(() => expect(late.count(webhook)).toHaveLength(1), PATIENCE);
  });

  it('when events come while no process runs, NATS dies and comes back', async () => {
    const { late } = receivers;
    late.got.length = 0;
    const webhook = await stage.register(late.url, { namespace: 'team-h' });
    await process.kill();
    await stage.publish('claim.resumed', { namespace: 'team-h' });
    await stage.nats.kill();
    process = await stage.run(ports);
    await stage.nats.restart();
    await vi.waitFor(() => expect(late.count(webhook)).toHaveLength(1), PATIENCE);
    await stage.redis.kill();
    const uid = randomUUID();
    await vi.waitFor(() => stage.publish('claim.suspended', { namespace: 'team-h', uid }), PATIENCE);
    await stage.redis.restart();
    await vi.waitFor(() => expect(late.count(webhook)).toHaveLength(2), PATIENCE);
  });
});
