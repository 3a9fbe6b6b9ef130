import { annotations, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { FakeClock } from '@sandlot/std/testing';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { startReplica } from '../../test/egress-replica.ts';
import type { ClaimedSandbox } from '../state/cluster-state.ts';
import { awaitRules, formatSpread } from './await-rules.ts';
import type { RulesDeps, Spread } from './await-rules.ts';

const [FIRST, SECOND, THIRD] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const;
const POD = '10.1.2.3';
const [OLD, NEW] = ['{"denyOut":[]}', '{"denyOut":["0.0.0.0/0"]}'];
const FOR_LONG = { timeoutMs: 60_000 };

let clock: FakeClock;
/** What the replicas answer, by their addresses; a number is a status. */
let replicas: Map<string, object | number>;
let asked: string[];
let claim: SandboxClaim | undefined;
let sandbox: Sandbox;
let deps: RulesDeps;

const buildClaim = (network: string): SandboxClaim => ({
  metadata: { namespace: 'team', name: 'box', uid: 'u1', annotations: { [annotations.network]: network } },
  spec: { warmPoolRef: { name: 'base' } },
  status: { sandbox: { name: 'warm-1', podIPs: [POD] } },
});
const has = (text: string, ...addresses: readonly string[]): object => ({
  text,
  addresses: addresses.length === 0 ? [POD] : addresses,
});

beforeEach(async () => {
  [clock, asked, claim] = [new FakeClock(), [], buildClaim(NEW)];
  replicas = new Map();
  sandbox = {
    metadata: { namespace: 'team', name: 'warm-1', labels: { [labels.egress]: 'steered' } },
    spec: { podTemplate: { spec: { containers: [] } } },
  };
  const server = await startReplica((request, response) => {
    asked.push(request.url ?? '');
    const answer = replicas.get(request.socket.localAddress ?? '') ?? 404;
    if (typeof answer === 'number') response.writeHead(answer).end('{}');
    else response.end(JSON.stringify(answer));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const withSandbox = (current: SandboxClaim): ClaimedSandbox => ({ claim: current, sandbox });
  const resolve = (): Promise<readonly string[]> => Promise.resolve([...replicas.keys()]);
  deps = {
    clock,
    state: { claims: { get: () => claim }, withSandbox },
    egressReplicas: { host: 'egress-reports', port: server.port, resolve },
  };
});

/** Starts the wait, and lets time go on until it ends or the test says so. */
function begin(limits: Parameters<typeof awaitRules>[2] = FOR_LONG) {
  const seen: { end?: unknown } = {};
  const claimed = { claim: buildClaim(NEW), sandbox };
  awaitRules(deps, claimed, limits).then(
    (spread) => (seen.end = spread),
    (error: unknown) => (seen.end = error),
  );
  return {
    seen,
    /** Lets the replicas be asked so many more times. */
    askAgain: async (times: number): Promise<void> => {
      const until = asked.length + times;
      await vi.waitFor(async () => {
        await clock.advance(500);
        expect(asked.length).toBeGreaterThanOrEqual(until);
      });
    },
    end: () =>
      vi.waitFor(async () => {
        await clock.advance(500);
        if (seen.end === undefined) throw new Error('it waits');
        return seen.end;
      }),
  };
}

it('waits until every replica has the rules', async () => {
  replicas = new Map<string, object | number>([
    [FIRST, has(NEW)],
    [SECOND, has(OLD)],
    [THIRD, 404],
  ]);
  const wait = begin();
  await wait.askAgain(9);
  replicas.set(SECOND, has(NEW)).set(THIRD, {});
  await wait.askAgain(9);
  expect(wait.seen.end).toBeUndefined();
  replicas.set(THIRD, has(NEW));
  expect(await wait.end()).toEqual({ having: 3, total: 3, isComplete: true });
  expect(new Set(asked)).toEqual(new Set(['/applied/team/u1']));
});

it('asks the replicas that there are at each time', async () => {
  replicas.set(FIRST, has(OLD));
  const wait = begin();
  await wait.askAgain(2);
  replicas = new Map([
    [SECOND, has(NEW)],
    [THIRD, has(OLD)],
  ]);
  await wait.askAgain(4);
  expect(wait.seen.end).toBeUndefined();
  replicas.delete(THIRD);
  expect(await wait.end()).toEqual({ having: 1, total: 1, isComplete: true });
});

it('waits for the address of the Pod, where a replica still has the Pod of before', async () => {
  replicas.set(FIRST, has(NEW, '10.9.9.9'));
  const wait = begin();
  await wait.askAgain(3);
  expect(wait.seen.end).toBeUndefined();
  replicas.set(FIRST, has(NEW, '10.9.9.9', POD));
  expect(await wait.end()).toMatchObject({ isComplete: true });
});

it('waits for the rules that the claim has then', async () => {
  claim = buildClaim(OLD);
  replicas.set(FIRST, has(NEW));
  const wait = begin();
  await wait.askAgain(3);
  expect(wait.seen.end).toBeUndefined();
  claim = buildClaim(NEW);
  expect(await wait.end()).toMatchObject({ isComplete: true });
});

it('says after the time how many have them, a replica that answers something else not among them', async () => {
  replicas = new Map<string, object | number>([
    [FIRST, has(NEW)],
    [SECOND, 500],
  ]);
  const spread = await begin({ timeoutMs: 1_000 }).end();
  expect(spread).toEqual({ having: 1, total: 2, isComplete: false });
  expect(formatSpread(spread as Spread)).toBe('1 of 2 replicas of the egress proxy have them');
});

it('without replicas nothing is complete', async () => {
  expect(await begin({ timeoutMs: 1_000 }).end()).toEqual({ having: 0, total: 0, isComplete: false });
});

it('ends when the client is gone', async () => {
  replicas.set(FIRST, has(OLD));
  const client = new AbortController();
  const wait = begin({ ...FOR_LONG, signal: client.signal });
  await wait.askAgain(2);
  client.abort();
  await vi.waitFor(() => expect(wait.seen.end).toMatchObject({ isComplete: false }));
});

it('ends when the sandbox is paused', async () => {
  replicas.set(FIRST, {});
  const wait = begin();
  await wait.askAgain(2);
  sandbox = { ...sandbox, spec: { ...sandbox.spec, operatingMode: 'Suspended' } };
  expect(await wait.end()).toEqual({ having: 0, total: 1, isComplete: false });
});

it('ends with 404 when the claim is gone', async () => {
  replicas.set(FIRST, has(OLD));
  const wait = begin();
  await wait.askAgain(2);
  claim = undefined;
  expect(await wait.end()).toMatchObject({ status: 404 });
});

it.each([
  ['without a proxy in the installation', () => (deps = { ...deps, egressReplicas: undefined })],
  ['whose Pod does not use the proxy', () => (sandbox = { ...sandbox, metadata: { ...sandbox.metadata, labels: {} } })],
])('a sandbox %s is not waited for', async (_, change) => {
  replicas.set(FIRST, has(OLD));
  change();
  expect(await begin().end()).toMatchObject({ isComplete: true });
  expect(asked).toEqual([]);
});
