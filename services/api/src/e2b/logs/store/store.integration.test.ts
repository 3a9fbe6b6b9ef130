import { pushToLoki, startLoki } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { formatEventId } from '@sandlot/bus';
import { createSandboxId } from '@sandlot/tenancy';
import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startKubeletStandIn } from '../../../../test/kubelet-stand-in.ts';
import type { KubeletStandIn } from '../../../../test/kubelet-stand-in.ts';
import { Stack } from '../../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../../test/stack.ts';
import { formatTag } from '../marks.ts';

const TENANT = 'sandboxes';
/** A time within the last week, at the beginning of a second. */
const START = Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000;

let stack: Stack;
let loki: Server;
let kubelet: KubeletStandIn;
let api: ApiUnderTest;
let key: string;
let foreignKey: string;
beforeAll(async () => {
  [stack, loki] = await Promise.all([Stack.start(), startLoki()]);
  await stack.bus.ensureStreams();
  kubelet = await startKubeletStandIn(stack.client);
  key = await stack.key({ namespace: 'team-a' });
  foreignKey = await stack.key({ namespace: 'team-b' });
  api = await stack.api({
    LOG_STORE_URL: `${loki.url}/`,
    LOG_STORE_TENANT: TENANT,
    LOG_STORE_SELECTOR: '{"cluster":"one"}',
  });
});
beforeEach(() => kubelet.logs.clear());
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await kubelet[Symbol.asyncDispose]();
  await loki.stop();
  await stack[Symbol.asyncDispose]();
});

type Line = readonly [ms: number, text: string];

/** Stores lines as the documented agent labels them (docs/operations/logs.md#label-the-streams). */
const store = (pod: string, lines: readonly Line[], more: Record<string, string> = {}): Promise<void> => {
  const labels = { cluster: 'one', namespace: 'team-a', pod, container: 'main', ...more };
  return pushToLoki(
    loki,
    { tenant: TENANT, labels },
    lines.map(([ms, text]) => [START + ms, text]),
  );
};

/** Publishes the end of a sandbox that no replica has seen, and returns its id. Its Pod has a name of its own. */
async function end(pod: string, namespace = 'team-a'): Promise<string> {
  const claim = createSandboxId();
  const type = 'sandbox.deleted';
  const id = formatEventId({ uid: claim, type, marker: 1 });
  const data = { namespace, name: pod, uid: claim, claim: { name: claim, uid: claim }, cause: 'user' };
  await stack.bus.send({ type, id, timeMs: START + 600_000, data });
  return claim;
}

const call = (path: string, asked = key): Promise<Reply> => api.call(`GET ${path}`, { key: asked });

async function readV2(id: string, query = ''): Promise<readonly string[]> {
  const { status, body } = await call(`/v2/sandboxes/${id}/logs${query}`);
  expect(status).toBe(200);
  return (body as { logs: { message: string }[] }).logs.map(({ message }) => message);
}

async function read(id: string, query = `?start=${START}`): Promise<readonly string[]> {
  const { status, body } = await call(`/sandboxes/${id}/logs${query}`);
  expect(status).toBe(200);
  return (body as { logEntries: { message: string }[] }).logEntries.map(({ message }) => message);
}

describe('the log of a sandbox that has ended', () => {
  it('is what the store has of its Pod, in both versions, in both directions, and searched', async () => {
    const id = await end('pod-1');
    await store('pod-1', [
      [1, 'one'],
      [2, 'Two'],
      [3, 'three'],
    ]);
    expect(await read(id)).toEqual(['one', 'Two', 'three']);
    expect(await read(id, '?limit=1')).toEqual(['one']);
    expect(await readV2(id)).toEqual(['three', 'Two', 'one']);
    expect(await readV2(id, '?limit=2')).toEqual(['three', 'Two']);
    expect(await readV2(id, `?cursor=${START + 2}`)).toEqual(['one']);
    expect(await readV2(id, `?cursor=${START + 2}&direction=forward`)).toEqual(['Two', 'three']);
    expect(await readV2(id, '?search=t')).toEqual(['three']);
    expect(await readV2(id, '?level=warn')).toEqual([]);
  });

  it('is followed without a loss, although more lines are of one millisecond than an answer has', async () => {
    const id = await end('pod-many');
    const lines = Array.from({ length: 1_200 }, (_, index): Line => [Math.floor(index / 300), `${index}`]);
    await store('pod-many', lines);
    const seen: string[] = [];
    for (let start = START; ;) {
      const { body } = await call(`/sandboxes/${id}/logs?start=${start}&limit=100`);
      const { logEntries } = body as { logEntries: { timestamp: string; message: string }[] };
      seen.push(...logEntries.map(({ message }) => message));
      const last = logEntries.at(-1);
      if (last === undefined) break;
      start = Date.parse(last.timestamp) + 1;
    }
    expect(seen).toEqual(lines.map(([, text]) => text));
  });

  it('has what its processes did and printed, and chooses by level and text among these', async () => {
    const id = await end('pod-processes');
    const mark = (event: string, level: string): string => `[process 7 ${event} ${level} ${formatTag(id)}] `;
    await store('pod-processes', [
      [1, 'of the container'],
      [2, `${mark('start', 'info')}started: make`],
      [3, `${mark('stderr', 'error')}no rule "all"`],
      [4, `[process 7 stderr error ${formatTag('another Sandbox')}] forged`],
      [5, `${mark('end', 'warn')}ended: exit status 2`],
      ...Array.from({ length: 1_200 }, (_, index): Line => [6 + index, `${mark('stdout', 'info')}${index}`]),
    ]);
    const { body } = await call(`/sandboxes/${id}/logs?start=${START}&limit=5`);
    expect((body as { logEntries: object[] }).logEntries).toMatchObject([
      { message: 'of the container', level: 'info', fields: { logger: 'container' } },
      { message: 'started: make', level: 'info', fields: { logger: 'process', event: 'start', pid: '7' } },
      { message: 'no rule "all"', level: 'error', fields: { logger: 'process', event: 'stderr', pid: '7' } },
      { message: expect.stringContaining('] forged') as string, level: 'info', fields: { logger: 'container' } },
      { message: 'ended: exit status 2', level: 'warn', fields: { logger: 'process', event: 'end', pid: '7' } },
    ]);
    expect(await readV2(id, '?level=warn&limit=10')).toEqual(['ended: exit status 2', 'no rule "all"']);
    expect(await readV2(id, '?level=error')).toEqual(['no rule "all"']);
    expect(await readV2(id, `?level=warn&search=${encodeURIComponent('"all"')}`)).toEqual(['no rule "all"']);
    expect(await readV2(id, '?search=stderr')).toEqual([
      `[process 7 stderr error ${formatTag('another Sandbox')}] forged`,
    ]);
  });

  it('has lines of processes also at a replica that has watched its end', async () => {
    const { body } = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base' } });
    const id = (body as { sandboxID: string }).sandboxID;
    const { status } = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
    const name = status?.sandbox?.name ?? '';
    const { metadata } = await stack.client.get(sandboxes, { namespace: 'team-a', name });
    const tag = formatTag(metadata.uid ?? '');
    expect((await api.call(`DELETE /sandboxes/${id}`, { key })).status).toBe(204);
    await store(name, [[1, `[process 7 stdout info ${tag}] out`]]);
    expect(await read(id)).toEqual(['out']);
  });

  it('ends with the sandbox: a later Pod of the same name is another one', async () => {
    const id = await end('pod-again');
    await store('pod-again', [
      [1, 'mine'],
      [3_000_000, 'of a later one'],
    ]);
    expect(await read(id)).toEqual(['mine']);
  });
});

describe('the log of a running sandbox', () => {
  it('has older lines from the store, and newer ones from its node, each once', async () => {
    const { body } = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base' } });
    const id = (body as { sandboxID: string }).sandboxID;
    const pod = `pod-${id}`;
    await kubelet.addPod('team-a', pod);
    const now = Date.now() - START;
    await store(pod, [
      [now + 1, 'rotated away'],
      [now + 10, 'both'],
      [now + 11, 'newest'],
    ]);
    const at = (ms: number): string => new Date(START + ms).toISOString();
    kubelet.logs.set(pod, [
      { at: at(now + 10), text: 'both' },
      { at: at(now + 11), text: 'newest' },
    ]);
    await expect.poll(() => read(id)).toEqual(['rotated away', 'both', 'newest']);
    expect(await readV2(id)).toEqual(['newest', 'both', 'rotated away']);
    expect(await readV2(id, '?limit=2')).toEqual(['newest', 'both']);
    expect(await readV2(id, '?search=rotated')).toEqual(['rotated away']);
  });
});

describe('a hostile tenant', () => {
  const secret = 'secret of team-b';

  it('reads no line of another namespace, cluster or Pod, whatever it searches for', async () => {
    const id = await end('pod-hostile');
    await store('pod-hostile', [[1, 'mine']]);
    await store('pod-hostile', [[1, secret]], { namespace: 'team-b' });
    await store('pod-other', [[1, 'of another sandbox']]);
    await store('pod-hostile', [[1, 'of another cluster']], { cluster: 'two' });
    expect(await read(id)).toEqual(['mine']);
    for (const search of [
      '"} or {namespace="team-b"} |= "',
      '" or {namespace="team-b"',
      '\\" | json',
      '`} {namespace="team-b"}',
      '\u0000\u001f\u007f\u2028',
      '\\x22',
      '%22',
      '|= ""',
    ]) {
      expect([search, await readV2(id, `?search=${encodeURIComponent(search)}`)]).toEqual([search, []]);
    }
    await store('pod-hostile', [[2, 'say "hi" \\ \t`']]);
    expect(await readV2(id, `?search=${encodeURIComponent('"hi" \\ \t`')}`)).toEqual(['say "hi" \\ \t`']);
  });

  it('learns nothing by the id of another team, nor by an id that is a query', async () => {
    const theirs = await end('pod-theirs', 'team-b');
    await store('pod-theirs', [[1, secret]], { namespace: 'team-b' });
    expect((await call(`/sandboxes/${theirs}/logs`, foreignKey)).status).toBe(200);
    for (const id of [theirs, '"} or {namespace="team-b', 'pod-theirs', '.*', '../../push']) {
      const reply = await call(`/sandboxes/${encodeURIComponent(id)}/logs`);
      expect([id, reply.status]).toEqual([id, 404]);
      expect(JSON.stringify(reply.body)).not.toContain(secret);
    }
  });

  it('gets lines as text, cut where they are too long', async () => {
    const id = await end('pod-lines');
    const forged = '{"level":"error","message":"forged","logger":"process"}';
    await store('pod-lines', [
      [1, forged],
      [2, 'x'.repeat(100_000)],
    ]);
    const { body } = await call(`/sandboxes/${id}/logs?start=${START}`);
    const { logEntries } = body as { logEntries: { message: string; level: string; fields: object }[] };
    expect(logEntries).toMatchObject([
      { message: forged, level: 'info', fields: { logger: 'container' } },
      { message: 'x'.repeat(16_384), level: 'info' },
    ]);
  });
});

describe('a store that is away', () => {
  it('is an error that may be repeated for what has ended, and none for what runs', async () => {
    const id = await end('pod-away');
    const { body } = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base' } });
    const running = (body as { sandboxID: string }).sandboxID;
    await kubelet.addPod('team-a', `pod-${running}`);
    kubelet.logs.set(`pod-${running}`, [{ at: new Date(START).toISOString(), text: 'of the node' }]);
    await loki.kill();
    const reply = await call(`/sandboxes/${id}/logs`);
    expect(reply).toMatchObject({ status: 503, body: { message: 'the store of logs cannot be read at this moment' } });
    expect(reply.headers.get('retry-after')).toBe('5');
    expect(await read(running)).toEqual(['of the node']);
    await loki.restart();
  });
});
