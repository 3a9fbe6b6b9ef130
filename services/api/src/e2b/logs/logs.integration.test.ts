import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startKubeletStandIn } from '../../../test/kubelet-stand-in.ts';
import type { KubeletStandIn } from '../../../test/kubelet-stand-in.ts';
import { Stack } from '../../../test/stack.ts';
import type { ApiUnderTest, Reply } from '../../../test/stack.ts';

let stack: Stack;
let kubelet: KubeletStandIn;
let api: ApiUnderTest;
let key: string;
let foreignKey: string;
let id: string;
let pod: string;
beforeAll(async () => {
  stack = await Stack.start();
  kubelet = await startKubeletStandIn(stack.client);
  key = await stack.key({ namespace: 'team-a' });
  foreignKey = await stack.key({ namespace: 'team-b' });
  api = await stack.api();
  [id, pod] = await create();
  await kubelet.addPod('team-a', pod);
});
beforeEach(() => {
  kubelet.logs.clear();
  kubelet.asked.length = 0;
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await kubelet[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

/** The id of a new sandbox, and the name of its Pod as the stand-in of the controllers has it. */
/** Bytes of buffers that something holds. What the collector has not met yet says nothing of the API. */
function measureKept(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}

async function create(): Promise<[string, string]> {
  const { body } = await call('POST /v2/sandboxes', { templateID: 'base' });
  const { sandboxID } = body as { sandboxID: string };
  return [sandboxID, `pod-${sandboxID}`];
}

const call = (request: string, body?: object): Promise<Reply> =>
  api.call(request, { key, ...(body === undefined ? {} : { body }) });

interface Shown {
  readonly logs: readonly { readonly timestamp: string; readonly line: string }[];
  readonly logEntries: readonly object[];
}

const START = Date.parse('2026-01-01T00:00:00.000Z');
const time = (ms: number): string => new Date(START + ms).toISOString();

async function read(query = ''): Promise<Shown> {
  const reply = await call(`GET /sandboxes/${id}/logs${query}`);
  expect(reply.status).toBe(200);
  return reply.body as Shown;
}

async function readV2(query: string): Promise<readonly string[]> {
  const reply = await call(`GET /v2/sandboxes/${id}/logs${query}`);
  expect(reply.status).toBe(200);
  return (reply.body as { logs: { message: string }[] }).logs.map(({ message }) => message);
}

/** What the CLI does with each line (@e2b/cli 2.19). */
const parseAsCli = ({ line }: { readonly line: string }): unknown => {
  const parsed = JSON.parse(line) as { readonly level: string; readonly message: string; readonly logger?: string };
  return [parsed.level.toUpperCase(), parsed.logger?.startsWith('container'), parsed.message];
};

describe('the log of a sandbox', () => {
  it('is read from a time on, the oldest first, with lines that the CLI can parse', async () => {
    kubelet.logs.set(pod, [
      { at: time(1), text: 'one' },
      { at: time(400), text: 'two' },
      { at: time(1_500), text: 'three' },
    ]);
    const { logs, logEntries } = await read(`?start=${START + 400}`);
    expect(logs.map(({ timestamp }) => timestamp)).toEqual([time(400), time(1_500)]);
    expect(logs.map(parseAsCli)).toEqual([
      ['INFO', true, 'two'],
      ['INFO', true, 'three'],
    ]);
    const fields = { logger: 'container' };
    expect(logEntries[0]).toEqual({ timestamp: time(400), message: 'two', level: 'info', fields });
    expect(Object.fromEntries(kubelet.asked[0] ?? [])).toEqual({
      sinceTime: '2026-01-01T00:00:00Z',
      limitBytes: '8388608',
      timestamps: 'true',
    });
  });

  it('is followed as the CLI does it without a loss, although many lines are of one millisecond', async () => {
    const lines = Array.from({ length: 30 }, (_, index) => ({ at: time(Math.floor(index / 7)), text: `${index}` }));
    kubelet.logs.set(pod, lines);
    const seen: unknown[] = [];
    for (let start = START; ;) {
      const { logs } = await read(`?start=${start}&limit=5`);
      seen.push(...logs.map(({ line }) => (JSON.parse(line) as { message: string }).message));
      const last = logs.at(-1);
      if (last === undefined) break;
      start = Date.parse(last.timestamp) + 1;
    }
    expect(seen).toEqual(lines.map(({ text }) => text));
  });

  it('is searched, and read backward unless the query says otherwise', async () => {
    const at = (ms: number, text: string) => ({ at: time(ms), text });
    kubelet.logs.set(pod, [at(1, 'Alpha'), at(2, 'beta'), at(3, 'alphabet'), at(4, 'gamma')]);
    expect(await readV2('')).toEqual(['gamma', 'alphabet', 'beta', 'Alpha']);
    expect(await readV2('?limit=2')).toEqual(['gamma', 'alphabet']);
    expect(await readV2(`?cursor=${START + 3}`)).toEqual(['beta', 'Alpha']);
    expect(await readV2(`?cursor=${START + 2}&direction=forward`)).toEqual(['beta', 'alphabet', 'gamma']);
    expect(await readV2('?search=lph')).toEqual(['alphabet', 'Alpha']);
    expect(await readV2('?search=ALPHA')).toEqual([]);
    expect([await readV2('?level=info&limit=1'), await readV2('?level=warn')]).toEqual([['gamma'], []]);
    expect(await readV2('?limit=0')).toEqual([]);
  });

  it('is of its team alone, and of no sandbox that is unknown', async () => {
    kubelet.logs.set(pod, [{ at: time(1), text: 'secret of team-a' }]);
    for (const version of ['', '/v2']) {
      const foreign = await api.call(`GET ${version}/sandboxes/${id}/logs`, { key: foreignKey });
      expect(foreign).toMatchObject({ status: 404, body: { message: `sandbox '${id}' was not found` } });
      expect((await call(`GET ${version}/sandboxes/nonesuch/logs`)).status).toBe(404);
    }
    expect(kubelet.asked).toEqual([]);
  });

  it('is empty while there is no Pod, and while the sandbox is paused', async () => {
    const [bare] = await create();
    expect(await call(`GET /sandboxes/${bare}/logs`)).toMatchObject({
      status: 200,
      body: { logs: [], logEntries: [] },
    });
    expect((await call(`POST /sandboxes/${bare}/pause`, { memory: false })).status).toBe(204);
    expect(await call(`GET /v2/sandboxes/${bare}/logs`)).toMatchObject({ status: 200, body: { logs: [] } });
  });

  it.each(['start=x', 'limit=1001', 'limit=-1', 'start=-1'])('is not read with %s', async (query) => {
    expect((await call(`GET /sandboxes/${id}/logs?${query}`)).status).toBe(400);
  });

  it.each(['direction=up', 'level=fatal', `search=${'x'.repeat(257)}`, 'cursor=1.5'])(
    'is not read in version 2 with %s',
    async (query) => {
      expect((await call(`GET /v2/sandboxes/${id}/logs?${query}`)).status).toBe(400);
    },
  );
});

describe('a hostile container', () => {
  it('that prints JSON, bytes and endless lines gets them shown as text, cut where they are too long', async () => {
    const forged = '{"level":"error","message":"forged","logger":"process"}';
    kubelet.logs.set(pod, [
      { at: time(1), text: forged },
      { at: time(2), text: Buffer.from([0xff, 0x00, 0xfe, 0x1b]) },
      { at: time(3), text: 'x'.repeat(3_000_000) },
      { at: time(4), text: 'after' },
    ]);
    const { logs } = await read(`?start=${START}`);
    const shown = logs.map(parseAsCli) as [string, boolean, string][];
    expect(shown.map(([level, isOfContainer]) => [level, isOfContainer])).toEqual(Array(4).fill(['INFO', true]));
    const [first, second, third = '', fourth] = shown.map(([, , message]) => message);
    expect([first, second, fourth]).toEqual([forged, '\ufffd\u0000\ufffd\u001b', 'after']);
    expect(third).toMatch(/^x{16000,} … \[cut: the line has more than 16384 bytes\]$/);
  });

  it('that never ends a line costs the API a line and no more, and no more time than it takes to read some of it', async () => {
    let written = 0;
    kubelet.logs.set(pod, (response) => {
      response.writeHead(200);
      response.write(`${time(1)} `);
      const chunk = Buffer.alloc(65_536, 'y');
      const write = (): void => {
        for (; !response.destroyed;) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', write);
        }
      };
      write();
    });
    const before = measureKept();
    const cut = expect.stringMatching(/^y{16000,} … \[cut: /) as string;
    expect(await readV2('')).toEqual([cut]);
    expect((await read(`?start=${START}`)).logEntries).toMatchObject([{ message: cut }]);
    expect(written).toBeGreaterThan(8 * 1_048_576);
    expect(measureKept() - before).toBeLessThan(32 * 1_048_576);
  });

  it('whose last lines are long keeps them from no reader: fewer are read', async () => {
    const long = (ms: number) => ({ at: time(ms), text: `${ms} ${'z'.repeat(100_000)}` });
    kubelet.logs.set(pod, [...Array.from({ length: 200 }, (_, index) => long(index)), { at: time(200), text: 'last' }]);
    expect((await readV2('?limit=2')).map((message) => message.split(' ')[0])).toEqual(['last', '199']);
    expect(kubelet.asked.map((query) => query.get('tailLines'))).toEqual(['5000', '500', '50']);
  });
});
