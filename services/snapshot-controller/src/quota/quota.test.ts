import { findCondition, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshotSpec } from '@sandlot/api-types';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, PLACE } from '../../test/harness.ts';
import { addCopy, addStart, COPY } from '../../test/starts.ts';
import { BYTES } from '../../test/test-agent.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

/** A snapshot of the Sandbox `notebook`, which goes on. */
function add(name: string, spec: Partial<SandboxSnapshotSpec> = {}, namespace = PLACE): void {
  h.api.seed(sandboxSnapshots, {
    metadata: { namespace, name },
    spec: { sandboxName: 'notebook', whenSaved: 'Resume', ...spec },
  });
}

const until = (name: string, summary: string): Promise<void> => h.until(() => h.summary(name) === summary);
const granted = (): (number | undefined)[] => h.agent.begun.map(({ mostBytes }) => mostBytes);
const explain = (name: string): string => findCondition(h.status(name).conditions, 'Ready')?.message ?? '';

describe('a quota of snapshots', () => {
  it('refuses one too many, and counts none that is deleted', async () => {
    h.addClass({ quota: { snapshotsPerNamespace: 1 } });
    await h.startController();
    add('first');
    await until('first', 'Ready/Saved');
    add('second');
    await until('second', 'Failed/QuotaExceeded');
    expect(explain('second')).toContain('1 SandboxSnapshots of the class "node"');
    expect(h.agent.begun).toHaveLength(1);
    await h.deleteSnapshot('first');
    add('third');
    await until('third', 'Ready/Saved');
  });

  it('holds for snapshots that are asked for at once', async () => {
    h.addClass({ quota: { snapshotsPerNamespace: 2 } });
    h.agent.holdsSaves = true;
    await h.startController();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) add(name);
    const refused = (): string[] => names.filter((name) => h.summary(name) === 'Failed/QuotaExceeded');
    await h.until(() => refused().length === 4 && h.agent.begun.length === 2);
    h.agent.finishSaves();
    await h.until(() => names.filter((name) => h.summary(name) === 'Ready/Saved').length === 2);
    expect(h.agent.begun).toHaveLength(2);
  });

  it('counts neither failed ones, nor those of another class or namespace, nor copies', async () => {
    h.addClass({ quota: { snapshotsPerNamespace: 2 } });
    h.api.seed(sandboxSnapshots, {
      metadata: { namespace: PLACE, name: 'failed' },
      spec: { sandboxName: 'notebook', whenSaved: 'Resume' },
      status: { phase: 'Failed' },
    });
    for (const [name, place] of [['theirs', 'team-b'] as const, ['also-theirs', 'team-b'] as const]) {
      h.api.seed(sandboxSnapshots, {
        metadata: { namespace: place, name },
        spec: { sandboxName: 'notebook', whenSaved: 'Resume' },
        status: { phase: 'Ready' },
      });
    }
    h.addClass({}, 'other');
    await h.startController();
    add('of-other', { snapshotClassName: 'other' });
    await until('of-other', 'Ready/Saved');
    add('notebook-1');
    await until('notebook-1', 'Ready/Saved');
    addStart(h);
    addCopy(h);
    await until(COPY, 'Ready/Saved');
    add('second', { snapshotClassName: 'node' });
    await until('second', 'Ready/Saved');
  });

  it('of none allows hibernations', async () => {
    h.addClass({ quota: { snapshotsPerNamespace: 0 } });
    await h.startController();
    add('first');
    await until('first', 'Failed/QuotaExceeded');
    h.hibernate();
    await until('notebook-1', 'Ready/Saved');
  });
});

describe('a quota of bytes', () => {
  it('tells the agent what is left, and lets it refuse', async () => {
    h.addClass({ quota: { bytesPerNamespace: BYTES * 2 - 1 } });
    await h.startController();
    h.hibernate();
    await until('notebook-1', 'Ready/Saved');
    add('second');
    await until('second', 'Failed/QuotaExceeded');
    expect(explain('second')).toBe('the Pod takes more than the quota has left');
    expect(granted()).toEqual([BYTES * 2 - 1]);
  });

  it('that is used up asks no agent', async () => {
    h.addClass({ quota: { bytesPerNamespace: BYTES } });
    await h.startController();
    add('first');
    await until('first', 'Ready/Saved');
    add('second');
    await until('second', 'Failed/QuotaExceeded');
    expect(explain('second')).toContain(`take all ${BYTES} bytes`);
    expect(h.agent.requests.filter((request) => request.startsWith('PUT /v1/snapshots/'))).toHaveLength(1);
  });

  it('lets one save go after the other, each with what is left then', async () => {
    h.addClass({ quota: { bytesPerNamespace: BYTES * 4 } });
    h.agent.holdsSaves = true;
    await h.startController();
    add('first');
    await until('first', 'Saving/Saving');
    add('second');
    await until('second', 'Pending/Pending');
    expect(explain('second')).toContain('Waits for another save');
    h.agent.finishSaves();
    await until('second', 'Ready/Saved');
    expect(granted()).toEqual([BYTES * 4, BYTES * 3]);
  });

  it('holds for snapshots that are asked for at once', async () => {
    h.addClass({ quota: { bytesPerNamespace: BYTES * 2 } });
    await h.startController();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) add(name);
    await h.until(() => names.every((name) => /^(Ready|Failed)/.test(h.summary(name))));
    expect(names.filter((name) => h.summary(name) === 'Ready/Saved')).toHaveLength(2);
    expect(granted()).toEqual([BYTES * 2, BYTES]);
  });

  it('is asked for again by a controller that takes over, as the status says', async () => {
    h.addClass({ quota: { bytesPerNamespace: BYTES * 4 } });
    h.agent.holdsSaves = true;
    const first = await h.startController();
    add('first');
    await until('first', 'Saving/Saving');
    await h.kill(first);
    add('second');
    await h.startController();
    await until('second', 'Pending/Pending');
    h.agent.finishSaves();
    await until('second', 'Ready/Saved');
    expect(granted()).toEqual([BYTES * 4, BYTES * 3]);
  });

  it('does not concern a class without one', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    add('first');
    add('second');
    await h.until(() => h.agent.begun.length === 2);
    expect(granted()).toEqual([undefined, undefined]);
    h.agent.finishSaves();
  });
});
