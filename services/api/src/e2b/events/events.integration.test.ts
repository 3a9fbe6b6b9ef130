import type { EventData, EventType } from '@sandlot/bus';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest } from '../../../test/stack.ts';

let stack: Stack;
let api: ApiUnderTest;
let ours: string;
let theirs: string;
beforeAll(async () => {
  stack = await Stack.start();
  await stack.bus.ensureStreams();
  [ours, theirs] = [await stack.key({ namespace: 'team-a' }), await stack.key({ namespace: 'team-b' })];
  api = await stack.api();
  for (const name of ['one', 'two', 'three']) {
    await publish('claim.bound', name, { sandbox: { name: 's', uid: 'u' }, launchType: 'warm' });
    await publish('claim.suspended', name);
  }
  await publish('snapshot.ready', 'three', { sandbox: { name: 's' }, nodeName: 'n', sizeBytes: 1 });
  await publish('claim.deleted', 'one', { cause: 'expiry' });
  await publish('claim.submitted', 'four');
  await publish('claim.suspended', 'unmade', { client: undefined });
  await publish('claim.suspended', 'foreign', { namespace: 'team-b' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

async function publish(type: EventType, name: string, more: object = {}): Promise<void> {
  const data = { namespace: 'team-a', name, uid: `uid-${name}`, client: { id: name, template: 'base' }, ...more };
  const event = { type, id: `uid-${name}/${type}/x`, timeMs: 1_000, data: data as unknown as EventData[typeof type] };
  await stack.bus.send(event);
}

interface Listed {
  readonly type: string;
  readonly sandboxId: string;
  readonly sandboxTeamId: string;
}

async function list(query = '', key = ours): Promise<readonly string[]> {
  const { status, body } = await api.call(`GET /events/sandboxes${query}`, { key });
  expect(status).toBe(200);
  return (body as Listed[]).map(({ type, sandboxId }) => `${type.replace('sandbox.lifecycle.', '')} ${sandboxId}`);
}

const ALL = [
  'killed one',
  'checkpointed three',
  'paused three',
  'created three',
  'paused two',
  'created two',
  'paused one',
  'created one',
];

describe('events of the sandboxes of a team', () => {
  it.each<[string, readonly string[]]>([
    ['', ALL],
    ['?orderAsc=true', ALL.toReversed()],
    ['?limit=2', ALL.slice(0, 2)],
    ['?offset=3&limit=2', ALL.slice(3, 5)],
    ['?offset=6&limit=100&orderAsc=true', ALL.toReversed().slice(6)],
    ['?offset=50', []],
    ['?types=sandbox.lifecycle.killed', ['killed one']],
    ['?types=sandbox.lifecycle.killed&types=sandbox.lifecycle.checkpointed', ['killed one', 'checkpointed three']],
    ['/one', ['killed one', 'paused one', 'created one']],
    ['/one?types=sandbox.lifecycle.created', ['created one']],
    ['/unknown', []],
    ['/foreign', []],
  ])('%s are read from the stream', async (query, events) => {
    expect(await list(query)).toEqual(events);
  });

  it('are those of the team of the key alone', async () => {
    expect(await list('', theirs)).toEqual(['paused foreign']);
  });

  it('have the form that clients parse', async () => {
    const { body } = await api.call('GET /events/sandboxes?limit=1', { key: ours });
    const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;
    expect(body).toEqual([
      {
        id: uuid,
        version: 'v2',
        type: 'sandbox.lifecycle.killed',
        eventCategory: 'sandbox',
        eventLabel: 'killed',
        timestamp: '1970-01-01T00:00:01.000Z',
        eventData: { kill_reason: 'timeout' },
        sandboxId: 'one',
        sandboxExecutionId: uuid,
        sandboxTemplateId: 'base',
        sandboxBuildId: uuid,
        sandboxTeamId: uuid,
      },
    ]);
  });

  it('are there once, however often they were published', async () => {
    await stack.bus.send({
      type: 'claim.resumed',
      id: 'again',
      timeMs: 1_000,
      data: { namespace: 'team-b', name: 'r', uid: 'u', client: { id: 'r', template: 'base' } },
    });
    for (const name of ['a', 'b']) {
      const event = { type: 'claim.resumed' as const, id: 'again', timeMs: 1_000 };
      const data = { namespace: 'team-b', name, uid: 'u', client: { id: 'r', template: 'base' } };
      stack.bus.sendOnce({ ...event, data });
    }
    expect(await list('', theirs)).toEqual(['resumed r', 'paused foreign']);
  });

  it.each(['?limit=0', '?limit=101', '?offset=-1', '?offset=99999', '?types=claim.bound', '?orderAsc=perhaps'])(
    '%s are refused',
    async (query) => {
      expect((await api.call(`GET /events/sandboxes${query}`, { key: ours })).status).toBe(400);
    },
  );

  it('leave no consumer behind, and cannot be read while NATS is away', async () => {
    await list('?limit=100');
    const { body } = await api.call('GET /events/sandboxes', {});
    expect(body).toMatchObject({ code: 401 });
    await stack.nats.kill();
    await expect
      .poll(async () => (await api.call('GET /events/sandboxes', { key: ours })).status, { timeout: 20_000 })
      .toBe(503);
    await stack.nats.restart();
  });
});
