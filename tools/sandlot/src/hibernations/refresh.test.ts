import { scheduler } from 'node:timers/promises';
import { annotations, resolveMode, sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { nodes } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import type { FakeApiServer } from '@sandlot/kube-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildBegun, buildHibernation, buildNode, buildSleeper, NAMESPACE, NEW } from '../../test/hibernations.ts';
import { runWithClient } from '../hibernations.ts';
import { parseHibernationsArguments } from './arguments.ts';

/** Every write of the command. */
const PATCH = { verb: 'patch', resource: 'sandboxes' } as const;
const AT = '2026-01-01T12:00:00Z';

let server: FakeApiServer;
let stop: AbortController;
/** What the stand-in of the controllers does with a Sandbox in place of the ordinary. */
let troubles: Map<string, 'neverReady' | 'saveFails' | 'memoryGoesOn'>;

beforeEach(async () => {
  server = await startFakeApiServer({ resources: [sandboxes, sandboxSnapshots] });
  stop = new AbortController();
  troubles = new Map();
  server.seed(nodes, buildNode('node-a', NEW));
  server.onChange(sandboxes, ({ name }) => queueMicrotask(() => standIn(name)));
});
afterEach(() => server.stop());

const read = (name: string): Sandbox | undefined => server.object(sandboxes, { namespace: NAMESPACE, name });
const note = (name: string, key: string): string | undefined => read(name)?.metadata.annotations?.[key];

function seedSleeper(name: string, suspender?: string): void {
  server.seed(sandboxes, buildSleeper(name, suspender === undefined ? {} : { [annotations.suspendedBy]: suspender }));
  server.seed(sandboxSnapshots, buildHibernation(name));
}

/** Does what the controllers do for a Sandbox whose spec has changed. */
function standIn(name: string): void {
  const { metadata, spec, status } = read(name) ?? {};
  if (spec === undefined || status?.observedGeneration === metadata?.generation) return;
  if (resolveMode(spec) === 'Suspended') save(name);
  else restore(name);
}

function restore(name: string): void {
  if (troubles.get(name) === 'neverReady') {
    publish(name, { type: 'Ready', status: 'False', message: 'no room' });
    return;
  }
  publish(name, { type: 'Ready', status: 'True' }, troubles.get(name) === 'memoryGoesOn' ? 'Memory' : 'Files');
  server.remove(sandboxSnapshots, { namespace: NAMESPACE, name: buildHibernation(name).metadata.name ?? '' });
}

function save(name: string): void {
  if (troubles.get(name) === 'saveFails') {
    publish(name, { type: 'Suspended', status: 'False', reason: 'HibernationFailed', message: 'no space' });
    return;
  }
  const again: SandboxSnapshot = buildHibernation(name, { fingerprint: NEW });
  server.remove(sandboxSnapshots, { namespace: NAMESPACE, name: again.metadata.name ?? '' });
  server.seed(sandboxSnapshots, { ...again, metadata: { ...again.metadata, uid: `again-of-${name}` } });
  publish(name, { type: 'Suspended', status: 'True' });
}

type Change = Partial<Condition> & Pick<Condition, 'type' | 'status'>;

function publish(name: string, condition: Change, resumedFrom?: 'Memory' | 'Files'): void {
  server.change(sandboxes, { namespace: NAMESPACE, name }, (sandbox) => {
    const observedGeneration = sandbox.metadata.generation ?? 0;
    const full = { reason: 'Told', message: '', lastTransitionTime: AT, observedGeneration, ...condition };
    sandbox.status = { observedGeneration, keeps: 'Memory', conditions: [full], resumedFrom };
  });
}

/** Runs the command with a clock that only its own waits move. */
async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const written = { out: '', err: '' };
  let nowMs = 0;
  const clock = {
    now: () => nowMs,
    sleep: async (ms: number): Promise<void> => {
      nowMs += ms;
      await scheduler.wait(1);
    },
  };
  const out = { write: (text: string) => (written.out += text) };
  const err = { write: (text: string) => (written.err += text) };
  const code = await runWithClient(server.client(), parseHibernationsArguments(args), {
    out,
    err,
    env: {},
    clock,
    signal: stop.signal,
  });
  return { code, ...written };
}

describe('sandlot hibernations refresh', () => {
  it('wakes and suspends each Sandbox whose memory is useless, as the one who had suspended it, and says what was lost', async () => {
    seedSleeper('of-user');
    seedSleeper('of-api', 'API');
    seedSleeper('idle', 'Idle');
    const { code, out } = await run('refresh', '--concurrency', '2');
    expect(out.trimEnd().split('\n')).toEqual([
      'NAMESPACE  SANDBOX  LOST       SLEEPS WITH  NODE    NOTE',
      'team-a     idle     processes  Memory       node-a',
      'team-a     of-api   processes  Memory       node-a',
      'team-a     of-user  processes  Memory       node-a',
      '',
      '3 refreshed, 0 left alone, 0 failed',
    ]);
    expect(code).toBe(0);
    expect(['of-user', 'of-api', 'idle'].map((name) => note(name, annotations.suspendedBy))).toEqual([
      undefined,
      'API',
      'Idle',
    ]);
    for (const { metadata, spec } of server.objects(sandboxes)) {
      expect(metadata.annotations).not.toHaveProperty([annotations.refresh]);
      expect(spec.operatingMode).toBe('Suspended');
    }
    expect(server.objects(sandboxSnapshots).map(({ metadata }) => metadata.uid)).toEqual([
      'again-of-idle',
      'again-of-of-api',
      'again-of-of-user',
    ]);
    expect((await run('refresh')).out).toBe('Nothing to refresh.\n');
  });

  it('leaves memory alone that a node can restore, unless it is to refresh all', async () => {
    seedSleeper('fresh');
    server.change(nodes, { name: 'node-a' }, (node) => {
      node.metadata.labels = { 'sandlot.dev/snapshot-fingerprint': 'gvisor-old' };
    });
    expect((await run('refresh')).out).toBe('Nothing to refresh.\n');
    troubles.set('fresh', 'memoryGoesOn');
    expect((await run('refresh', '--all')).out).toContain('team-a     fresh    nothing  Memory');
  });

  it('finishes what a run left that was killed after it had woken a Sandbox', async () => {
    server.seed(sandboxes, buildBegun('begun', 'API'));
    expect((await run('list')).out).toContain('it is awake  a refresh was interrupted: run it again');
    const { code } = await run('refresh');
    expect(code).toBe(0);
    expect(read('begun')?.spec.operatingMode).toBe('Suspended');
    expect(note('begun', annotations.suspendedBy)).toBe('API');
    expect(note('begun', annotations.refresh)).toBeUndefined();
  });

  it('suspends what is awake when it is interrupted, and wakes nothing more', async () => {
    for (const name of ['a', 'b']) seedSleeper(name);
    troubles.set('a', 'neverReady');
    server.onChange(sandboxes, ({ name }) => {
      if (name === 'a' && note('a', annotations.refresh) !== undefined) stop.abort();
    });
    const { code, out } = await run('refresh', '--concurrency', '1');
    expect(code).toBe(1);
    expect(out).toContain('the run was interrupted while the Sandbox woke, and it sleeps again');
    expect(out).toContain('the run was interrupted before it woke the Sandbox');
    expect(server.objects(sandboxes).map(({ spec }) => spec.operatingMode)).toEqual(['Suspended', 'Suspended']);
    expect(server.writes().filter(({ key }) => key.endsWith('/b'))).toEqual([]);
  });

  it('suspends a Sandbox again that does not get Ready in time, and says why', async () => {
    seedSleeper('slow');
    troubles.set('slow', 'neverReady');
    const { code, out } = await run('refresh', '--timeout', '10s');
    expect(code).toBe(1);
    expect(out).toContain('it was not awake in time, and sleeps again: no room');
    expect(read('slow')?.spec.operatingMode).toBe('Suspended');
  });

  it('wakes no further Sandbox once one could not be saved again', async () => {
    for (const name of ['a', 'b']) seedSleeper(name);
    troubles.set('a', 'saveFails');
    const { code, out } = await run('refresh', '--concurrency', '1');
    expect(code).toBe(1);
    expect(out).toMatch(/ a +processes +- +- +no space\n.* b .* not tried: the memory of another/);
    expect(server.writes().filter(({ key }) => key.endsWith('/b'))).toEqual([]);
  });

  it.each([
    ['the answer to the wake is lost', () => server.faults.errorAfterCommit({ match: PATCH, answer: 'reset' })],
    ['the API server fails for a moment', () => server.faults.failNext({ match: PATCH, answer: { status: 500 } })],
    ['another write comes first', () => server.faults.failNext({ match: PATCH, answer: { status: 409 } })],
  ])('goes on when %s', async (_, fail) => {
    seedSleeper('a');
    fail();
    expect((await run('refresh')).code).toBe(0);
    expect(read('a')?.spec.operatingMode).toBe('Suspended');
    expect(note('a', annotations.refresh)).toBeUndefined();
    expect(read('a')?.metadata.generation).toBe(3);
  });

  it('that dies between its two writes leaves the work to the next run', async () => {
    seedSleeper('a', 'Idle');
    const fault = server.faults.failAfterWrites(1, { match: PATCH, answer: { status: 500 } });
    const { code, out } = await run('refresh', '--timeout', '10s');
    expect(code).toBe(1);
    expect(out).toContain('0 refreshed, 0 left alone, 1 failed');
    expect(note('a', annotations.refresh)).toBe('Idle');
    fault.end();
    expect((await run('refresh')).code).toBe(0);
    expect(read('a')?.spec.operatingMode).toBe('Suspended');
    expect(note('a', annotations.suspendedBy)).toBe('Idle');
  });

  it('refuses a node that does not exist', async () => {
    await expect(run('refresh', '--node', 'node-x')).rejects.toThrow('there is no node "node-x"');
  });
});

describe('sandlot hibernations list', () => {
  it('shows what each Sandbox would wake with, and changes nothing', async () => {
    seedSleeper('a');
    const { code, out } = await run('list', '--node', 'node-a');
    expect([code, server.writes()]).toEqual([0, []]);
    expect(out).toMatch(/^NAMESPACE +SANDBOX +NODE +IN BUCKET +WAKES WITH +SAVED BY\nteam-a +a +node-a +no +Files$/m);
  });
});
