import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { secrets } from '@sandlot/kube';
import { readWebhook } from '@sandlot/team-events';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { collectLog } from '../../../test/collected-log.ts';
import { HOOKS_NAMESPACE, Stack } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };
const SECRET = 'hush-5d1c';
const NOT_FOUND = { status: 404, body: { code: 404, message: 'Webhook not found' } };
const wish = {
  name: 'mine',
  url: 'https://hooks.example.com/sandlot',
  events: ['sandbox.lifecycle.created', 'sandbox.lifecycle.killed', 'sandbox.lifecycle.created'],
  signatureSecret: SECRET,
};

const log = collectLog();
const audited: object[] = [];
const asked: IncomingMessage[] = [];
/** What the webhooks process answers. */
let answer: { readonly status: number; readonly body: unknown } = { status: 200, body: {} };
const worker = createServer((request, response) => {
  asked.push(request);
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
});
let stack: Stack;
let api: ApiUnderTest;
let other: ApiUnderTest;
let without: ApiUnderTest;
let ours: string;
let theirs: string;
beforeAll(async () => {
  stack = await Stack.start();
  [ours, theirs] = [await stack.key({ namespace: 'team-a' }), await stack.key({ namespace: 'team-b' })];
  worker.listen(0, '127.0.0.1');
  await once(worker, 'listening');
  const WEBHOOKS_URL = `http://127.0.0.1:${(worker.address() as AddressInfo).port}`;
  const settings = { HOOKS_NAMESPACE, WEBHOOKS_URL, WEBHOOKS_LIMIT: '3' };
  [api, other, without] = [await stack.api(settings, log), await stack.api(settings, log), await stack.api()];
  stack.bus.onHint('audit.recorded', ({ data }) => audited.push(data));
});
afterAll(async () => {
  await Promise.all([api, other, without].map((each) => each[Symbol.asyncDispose]()));
  worker.closeAllConnections();
  worker.close();
  await stack[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const { metadata } of await listStored())
    await stack.client.delete(secrets, { namespace: HOOKS_NAMESPACE, name: metadata.name ?? '' });
  asked.length = 0;
});

const listStored = async () => (await stack.client.listAll(secrets, { namespace: HOOKS_NAMESPACE })).items;
const call = (request: string, body?: unknown, { key = ours, from = api } = {}): Promise<Reply> =>
  from.call(request, { key, body });
const create = async (more: object = {}, key = ours): Promise<Reply> => {
  const created = await call('POST /events/webhooks', { ...wish, ...more }, { key });
  asked.length = 0;
  return created;
};
const getId = ({ body }: Reply): string => (body as { id: string }).id;

describe('webhooks of a team', () => {
  it('are created, listed, read, changed and deleted, and never show their secret', async () => {
    const created = await create();
    expect(created).toMatchObject({
      status: 201,
      body: {
        name: 'mine',
        url: wish.url,
        enabled: true,
        events: ['sandbox.lifecycle.created', 'sandbox.lifecycle.killed'],
      },
    });
    const one = `/events/webhooks/${getId(created)}`;
    expect(await call('GET /events/webhooks')).toMatchObject({ status: 200, body: [created.body] });
    expect(await call(`GET ${one}`, undefined, { from: other })).toMatchObject({
      status: 200,
      body: created.body as object,
    });
    const changed = await call(`PATCH ${one}`, { enabled: false, signatureSecret: 'another' });
    expect(changed).toMatchObject({ status: 200, body: { ...(created.body as object), enabled: false } });
    const [stored] = (await listStored()).map(readWebhook);
    expect(stored).toMatchObject({ namespace: 'team-a', enabled: false, signatureSecret: 'another', url: wish.url });
    const gone = await call(`DELETE ${one}`);
    expect([gone.status, gone.body]).toEqual([200, '']);
    expect(await call(`GET ${one}`)).toMatchObject(NOT_FOUND);
    expect(await listStored()).toEqual([]);
  });

  it('are not there for another team', async () => {
    const one = `/events/webhooks/${getId(await create())}`;
    for (const request of [`GET ${one}`, `DELETE ${one}`, `GET ${one}/deliveries`, `GET ${one}/stats`])
      expect(await call(request, undefined, { key: theirs }), request).toMatchObject(NOT_FOUND);
    expect(await call(`PATCH ${one}`, { name: 'stolen' }, { key: theirs })).toMatchObject(NOT_FOUND);
    expect(await call(`POST ${one}/deliveries/${randomUUID()}/replay`, undefined, { key: theirs })).toMatchObject(
      NOT_FOUND,
    );
    expect(await call('GET /events/webhooks', undefined, { key: theirs })).toMatchObject({ status: 200, body: [] });
    expect(asked).toEqual([]);
    for (const id of ['..%2Fapi-key-1', 'x', randomUUID()])
      expect(await call(`GET /events/webhooks/${id}`)).toMatchObject(NOT_FOUND);
  });

  it('are as many as the team may have, also when two replicas create at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        call('POST /events/webhooks', wish, { from: index % 2 === 0 ? api : other }),
      ),
    );
    const refused = replies.filter(({ status }) => status === 429);
    expect((await listStored()).length).toBeLessThanOrEqual(3);
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(refused[0]?.body).toMatchObject({ message: 'a team may have 3 webhooks; delete some' });
  });

  it.each<[string, object, string]>([
    ['a private address', { url: 'http://10.0.0.1/' }, 'webhook url must be a public address'],
    ['an address of the cluster', { url: 'http://redis.sandlot.svc/' }, 'webhook url must be a public address'],
    ['a port that is closed', { url: 'https://example.com:22/' }, 'webhook url must have one of the ports 80, 443'],
    ['no secret', { signatureSecret: undefined }, 'signatureSecret: '],
    ['no events', { events: [] }, 'events: '],
    ['an event that does not exist', { events: ['sandbox.lifecycle.born'] }, 'events.0: '],
    ['a field without effect', { headers: { a: 'b' } }, 'headers'],
    ['a name that is very long', { name: 'x'.repeat(200) }, 'name: '],
  ])('are refused with %s', async (_, more, message) => {
    const { status, body } = await create(more);
    expect([status, (body as { message: string }).message]).toEqual([400, expect.stringContaining(message)]);
    expect(await listStored()).toEqual([]);
  });

  it('are not available where the operator has not switched them on', async () => {
    const reply = await call('POST /events/webhooks', wish, { from: without });
    expect(reply).toMatchObject({ status: 503, body: { code: 503, message: 'Webhooks are not available' } });
    expect(reply.headers.get('should-retry')).toBe('false');
    expect((await call('GET /events/webhooks', undefined, { from: without })).status).toBe(503);
  });
});

describe('deliveries', () => {
  it('are asked of the webhooks process with the token of the webhook alone', async () => {
    const created = await create();
    const [stored] = (await listStored()).map(readWebhook);
    answer = { status: 200, body: { data: [], nextCursor: '7' } };
    const path = `/events/webhooks/${getId(created)}/deliveries`;
    const page = await call(
      `GET ${path}?limit=5&orderAsc=true&deliveryStatus=failed&eventType=sandbox.lifecycle.killed&cursor=9`,
    );
    expect(page).toMatchObject({ status: 200, body: answer.body as object });
    const url = new URL(asked[0]?.url ?? '', 'http://worker');
    expect(url.pathname).toBe(`/webhooks/${getId(created)}/deliveries`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      cursor: '9',
      limit: '5',
      orderAsc: 'true',
      deliveryStatus: 'failed',
      eventType: 'sandbox.lifecycle.killed',
    });
    expect(asked[0]?.headers.authorization).toBe(`Bearer ${stored?.accessToken ?? ''}`);
    expect(JSON.stringify([created.body, page.body])).not.toContain(stored?.accessToken);
  });

  it.each<[number, string, number, string]>([
    [202, 'POST', 202, ''],
    [404, 'POST', 404, 'Delivery not found'],
    [409, 'POST', 409, 'the delivery is still tried'],
    [500, 'POST', 503, 'deliveries of webhooks cannot be read now'],
  ])('are replayed: %i of the process becomes %s %i', async (...[status, method, wanted, message]) => {
    answer = { status, body: {} };
    const path = `/events/webhooks/${getId(await create())}/deliveries/${randomUUID()}/replay`;
    const reply = await call(`${method} ${path}`);
    expect(reply.status).toBe(wanted);
    expect(JSON.stringify(reply.body)).toContain(message);
  });

  it('begin with the answer to the create: it waits until the process knows the webhook', async () => {
    answer = { status: 404, body: {} };
    const creating = call('POST /events/webhooks', wish);
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(2), PATIENCE);
    answer = { status: 200, body: {} };
    expect((await creating).status).toBe(201);
  });

  it('of a webhook that the process has not seen yet are none', async () => {
    answer = { status: 404, body: {} };
    const one = `/events/webhooks/${getId(await create())}`;
    expect(await call(`GET ${one}/deliveries`)).toMatchObject({ status: 200, body: { data: [], nextCursor: null } });
    expect(await call(`GET ${one}/stats`)).toMatchObject({ status: 200, body: { total: 0 } });
  });
});

it('secrets of webhooks are in no log and no audit record', async () => {
  await create();
  await vi.waitFor(
    () => expect(audited).toContainEqual(expect.objectContaining({ action: 'webhook.create', name: 'mine' })),
    PATIENCE,
  );
  expect(JSON.stringify([log.lines, audited])).not.toContain(SECRET);
});
