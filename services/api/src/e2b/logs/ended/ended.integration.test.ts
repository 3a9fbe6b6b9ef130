import { formatEventId } from '@sandlot/bus';
import { createSandboxId } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../../test/stack.ts';

const PATHS = ['/sandboxes', '/v2/sandboxes'] as const;
const NOT_KEPT = {
  status: 403,
  body: { code: 403, message: 'logs of ended sandboxes are not kept in this installation', error_code: 'not_enabled' },
};

let stack: Stack;
let api: ApiUnderTest;
let key: string;
let foreignKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  await stack.bus.ensureStreams();
  key = await stack.key({ namespace: 'team-a' });
  foreignKey = await stack.key({ namespace: 'team-b' });
  api = await stack.api();
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const readLog = (id: string, asked = key, from = api): Promise<Reply> =>
  from.call(`GET /sandboxes/${id}/logs`, { key: asked });

async function create(): Promise<string> {
  const { body } = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base' } });
  return (body as { sandboxID: string }).sandboxID;
}

/** What the sandbox-controller publishes about a Sandbox that is gone. */
async function publishEnd(claim: string, agoMs: number, namespace = 'team-a'): Promise<void> {
  const type = 'sandbox.deleted';
  const id = formatEventId({ uid: claim, type, marker: agoMs });
  const data = { namespace, name: `pod-${claim}`, uid: claim, claim: { name: claim, uid: claim }, cause: 'user' };
  await stack.bus.send({ type, id, timeMs: Date.now() - agoMs, data });
}

describe('the log of a sandbox that has ended', () => {
  it('is empty for those who follow it while it is killed, at every replica, and unknown to another team', async () => {
    await using other = await stack.api();
    const id = await create();
    expect((await api.call(`DELETE /sandboxes/${id}`, { key })).status).toBe(204);
    expect(await readLog(id)).toMatchObject({ status: 200, body: { logs: [], logEntries: [] } });
    expect((await readLog(id, key, other)).status).toBe(200);
    for (const path of PATHS) expect((await api.call(`GET ${path}/${id}/logs`, { key: foreignKey })).status).toBe(404);
  });

  it('is refused later, with a reason, also by a replica that has not seen the end', async () => {
    const id = createSandboxId();
    expect((await readLog(id)).status).toBe(404);
    await publishEnd(id, 120_000);
    for (const path of PATHS) {
      expect(await api.call(`GET ${path}/${id}/logs`, { key })).toMatchObject(NOT_KEPT);
      expect((await api.call(`GET ${path}/${id}/logs`, { key: foreignKey })).status).toBe(404);
    }
    await using later = await stack.api();
    const reply = await readLog(id, key, later);
    expect(reply).toMatchObject(NOT_KEPT);
    expect(reply.headers.get('should-retry')).toBe('false');
  });

  it('is that of no sandbox for ids that the team never had, for claims that are none of the API, and after a week', async () => {
    const old = createSandboxId();
    await publishEnd(old, 8 * 86_400_000);
    await publishEnd('a-claim-of-kubectl', 1_000);
    for (const id of [createSandboxId(), old, 'a-claim-of-kubectl', '../team-b', '*', '>']) {
      expect([id, (await readLog(encodeURIComponent(id))).status]).toEqual([id, 404]);
    }
  });

  it('is asked for many times at once, which reads the events of the namespace a few times', async () => {
    const ids = Array.from({ length: 50 }, () => createSandboxId());
    const replies = await Promise.all(ids.map((id) => readLog(id)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([404]));
  });

  it('looks like that of an unknown one while NATS is away: the client may try again', async () => {
    await stack.nats.kill();
    const reply = await readLog(createSandboxId());
    expect(reply).toMatchObject({ status: 503, body: { message: expect.stringContaining('event bus') as string } });
    expect(reply.headers.get('retry-after')).toBe('5');
    const id = await create();
    expect((await readLog(id)).status).toBe(200);
    await stack.nats.restart();
  });
});
