import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGatewayStandIn } from '../../../test/gateway-stand-in.ts';
import type { GatewayStandIn } from '../../../test/gateway-stand-in.ts';
import { startKubeletStandIn } from '../../../test/kubelet-stand-in.ts';
import type { KubeletStandIn } from '../../../test/kubelet-stand-in.ts';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest } from '../../../test/stack.ts';
import { formatTag } from './marks.ts';

let stack: Stack;
let kubelet: KubeletStandIn;
let gateway: GatewayStandIn;
let api: ApiUnderTest;
let key: string;
let id: string;
/** Whole seconds of a time before now, as the clocks of the daemon and the node show it. */
let startMs: number;
beforeAll(async () => {
  stack = await Stack.start();
  [kubelet, gateway] = [await startKubeletStandIn(stack.client), await startGatewayStandIn()];
  key = await stack.key({ namespace: 'team-a' });
  api = await stack.api({ GATEWAY_URL: gateway.url });
  const { body } = await api.call('POST /v2/sandboxes', { key, body: { templateID: 'base' } });
  id = (body as { sandboxID: string }).sandboxID;
  await kubelet.addPod('team-a', `pod-${id}`);
});
beforeEach(() => {
  startMs = Math.floor(Date.now() / 1_000) * 1_000 - 1_000;
  kubelet.logs.clear();
  gateway.records.clear();
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
  await kubelet[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const print = (...lines: readonly (readonly [ms: number, text: string])[]): void =>
  void kubelet.logs.set(
    `pod-${id}`,
    lines.map(([ms, text]) => ({ at: new Date(startMs + ms).toISOString(), text })),
  );
const record = (ms: number, message: string, more: object = {}) => ({
  ms: startMs + ms,
  level: 'info',
  event: 'stdout',
  message,
  pid: 7,
  ...more,
});

interface Shown {
  readonly logs: readonly { readonly timestamp: string; readonly line: string }[];
  readonly logEntries: readonly { readonly message: string }[];
}

async function read(query = `?start=${startMs}`): Promise<Shown> {
  const { status, body } = await api.call(`GET /sandboxes/${id}/logs${query}`, { key });
  expect(status).toBe(200);
  return body as Shown;
}

async function readV2(query: string): Promise<readonly string[]> {
  const { status, body } = await api.call(`GET /v2/sandboxes/${id}/logs${query}`, { key });
  expect(status).toBe(200);
  return (body as { logs: { message: string }[] }).logs.map(({ message }) => message);
}

const listMessages = ({ logEntries }: Shown): readonly string[] => logEntries.map(({ message }) => message);

describe('records of processes in the log of the container', () => {
  it('are lines of processes, also where the daemon keeps none and where lines of containers have too low a level', async () => {
    const { status } = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: id });
    const name = status?.sandbox?.name ?? '';
    const { metadata } = await stack.client.get(sandboxes, { namespace: 'team-a', name });
    const tag = formatTag(metadata.uid ?? '');
    print([1, 'serving'], [2, `[process 7 stderr error ${tag}] wrong`], [3, `[process 7 stdout info ${tag}] out`]);
    gateway.records.set(id, { now: startMs + 1_000, records: [] });
    expect((await read()).logEntries).toMatchObject([
      { message: 'serving', fields: { logger: 'container' } },
      { message: 'wrong', level: 'error', fields: { logger: 'process', event: 'stderr', pid: '7' } },
      { message: 'out', level: 'info', fields: { logger: 'process', event: 'stdout', pid: '7' } },
    ]);
    expect(await readV2('?level=error')).toEqual(['wrong']);
    expect(await readV2('?search=stdout')).toEqual([]);
  });
});

describe('records of processes', () => {
  it('are between the lines of the container, with a logger, a level and a pid', async () => {
    print([1, 'one'], [30, 'three']);
    const records = [
      record(20, 'started: ls', { event: 'start' }),
      record(40, 'no such file', { level: 'error', event: 'stderr' }),
    ];
    gateway.records.set(id, { now: startMs + 1_000, records });
    const { logs, logEntries } = await read();
    expect(logEntries.map(({ message }) => message)).toEqual(['one', 'started: ls', 'three', 'no such file']);
    expect(logEntries[3]).toMatchObject({ level: 'error', fields: { logger: 'process', event: 'stderr', pid: '7' } });
    // The CLI filters by the beginning of the logger.
    expect(JSON.parse(logs[1]?.line ?? '')).toEqual({
      level: 'info',
      message: 'started: ls',
      logger: 'process',
      event: 'start',
      pid: '7',
    });
    expect(await readV2('')).toEqual(['no such file', 'three', 'started: ls', 'one']);
    expect(await readV2('?level=warn')).toEqual(['no such file']);
    expect(await readV2('?search=t')).toEqual(['three', 'started: ls']);
    expect(await readV2('?limit=2')).toEqual(['no such file', 'three']);
  });

  it('and lines are followed without a loss, although both sources go on meanwhile', async () => {
    const lines = Array.from({ length: 40 }, (_, index) => [index * 3, `c${index}`] as const);
    const records = Array.from({ length: 40 }, (_, index) => record(index * 3 + (index % 2), `p${index}`));
    const seen: string[] = [];
    for (let [start, now] = [startMs, 0]; now <= 130; now += 10) {
      // The node has lines that are later than the time at which the daemon was asked.
      print(...lines.filter(([ms]) => ms < now + 5));
      gateway.records.set(id, { now: startMs + now, records: records.filter(({ ms }) => ms < startMs + now) });
      const { logs, logEntries } = await read(`?start=${start}`);
      seen.push(...logEntries.map(({ message }) => message));
      start = Date.parse(logs.at(-1)?.timestamp ?? new Date(start - 1).toISOString()) + 1;
    }
    expect(seen.toSorted()).toEqual(
      [...lines.map(([, text]) => text), ...records.map(({ message }) => message)].toSorted(),
    );
  });

  it('need a daemon that keeps them and answers; without one there is the log of the container', async () => {
    print([1, 'one']);
    expect(listMessages(await read())).toEqual(['one']);
    gateway.daemons.set(id, 'closed');
    expect(listMessages(await read())).toEqual(['one']);
    gateway.daemons.delete(id);
  });
});

describe('a hostile sandbox, which answers in place of its daemon,', () => {
  const forge = (more: object) => (): object => ({ now: startMs, records: [record(5, 'forged', more)] });

  it.each<[string, () => object | string]>([
    ['no JSON', () => '<html>'],
    ['another shape', () => ({ now: startMs, records: {} })],
    ['a time that no date has', forge({ ms: 9e15 })],
    ['a level that the CLI does not know', forge({ level: 'fatal' })],
    ['a message that is no text', forge({ message: {} })],
    ['more than an answer may have', forge({ message: 'x'.repeat(5 * 1_048_576) })],
  ])('keeps no reader from the log of the container with %s', async (_name, buildAnswer) => {
    print([1, 'one']);
    const answer = buildAnswer();
    gateway.records.set(id, typeof answer === 'string' ? answer : JSON.stringify(answer));
    expect(listMessages(await read())).toEqual(['one']);
    expect(await readV2('')).toEqual(['one']);
  });

  it('can give its records no other logger and no field, and hides no line of the container by a clock of its own', async () => {
    print([1, 'one'], [90, 'last']);
    const forged = record(5, 'forged', { logger: 'container', fields: { admin: 'true' } });
    gateway.records.set(id, { now: startMs - 60_000, records: [forged] });
    const { logEntries } = await read();
    expect(logEntries).toMatchObject([{ message: 'one' }, { message: 'forged' }, { message: 'last' }]);
    expect(logEntries[1]).toMatchObject({ fields: { logger: 'process', event: 'stdout', pid: '7' } });
  });
});
