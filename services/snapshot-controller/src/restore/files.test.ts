import type { Pod } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness } from '../../test/harness.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';
const grantOf = (pod: Pod): string | undefined => h.agent.grants.get(uidOf(pod))?.only;

/** The memory cannot be restored in the first Pod. */
async function loseMemory(): Promise<void> {
  await h.startController();
  await h.asleep();
  const pod = h.addMarkedPod('notebook');
  await h.until(() => h.agent.grants.has(uidOf(pod)));
  h.agent.end(uidOf(pod), 'Failed', 'another version of gVisor');
  await h.until(() => h.status().restore?.state === 'Failed');
  h.removePod('notebook');
}

describe('the files beside the memory', () => {
  it('are kept with a hibernation, and the status says so', async () => {
    await h.startController();
    await h.asleep();
    expect(h.agent.begun[0]).toMatchObject({ mode: 'Hibernate', files: true });
    expect(h.status()).toMatchObject({ hasFiles: true });
    expect(h.status().fingerprint).toBeDefined();
  });

  it('are not kept where the class does without them', async () => {
    h.removeClass();
    h.addClass({ keepFiles: false });
    await h.startController();
    await h.asleep();
    expect(h.agent.begun[0]?.files).toBeUndefined();
    expect(h.status().hasFiles).toBeUndefined();
  });

  it('are done without where the agent is older: memory comes first', async () => {
    h.agent.isOld = true;
    await h.startController();
    await h.asleep();
    expect(h.status().hasFiles).toBeUndefined();
  });

  it('go to a Pod that asks for them after the memory failed, and to no second one', async () => {
    await loseMemory();
    const second = h.addMarkedPod('notebook', { only: 'files' });
    await h.until(() => h.agent.grants.has(uidOf(second)));
    expect(grantOf(second)).toBe('files');
    expect(h.status().restore).toMatchObject({ podUID: uidOf(second), state: 'Announced', only: 'files' });
    h.agent.end(uidOf(second), 'Failed', 'no memory for them');
    await h.until(() => h.status().restore?.state === 'Failed');
    expect(h.status().restore?.only).toBe('files');
    h.removePod('notebook');
    const third = h.addMarkedPod('notebook', { only: 'files' });
    await h.elapse(10_000);
    expect(h.agent.grants.has(uidOf(third))).toBe(false);
  });

  it('are followed by another process to the same end', async () => {
    await loseMemory();
    const second = h.addMarkedPod('notebook', { only: 'files' });
    await h.until(() => h.agent.grants.has(uidOf(second)));
    h.agent.forget();
    await h.until(() => grantOf(second) === 'files');
    h.agent.end(uidOf(second), 'Restored');
    await h.until(() => h.status().restore?.state === 'Restored');
  });

  it('may be had at once by a Pod that asks for nothing else', async () => {
    await h.startController();
    await h.asleep();
    const pod = h.addMarkedPod('notebook', { only: 'files' });
    await h.until(() => grantOf(pod) === 'files');
  });

  it.each([
    ['a Pod that asks for memory after the memory failed', {}],
    ['a Pod of another namespace', { only: 'files', namespace: 'team-b' }],
    ['a Pod on another node', { only: 'files', node: 'node-2' }],
  ])('are not for %s', async (_who, parts) => {
    await loseMemory();
    const pod = h.addMarkedPod('intruder', parts);
    await h.elapse(10_000);
    expect(h.agent.grants.has(uidOf(pod))).toBe(false);
  });

  it('that were not kept are given to no Pod', async () => {
    h.agent.isOld = true;
    await loseMemory();
    const pod = h.addMarkedPod('notebook', { only: 'files' });
    await h.elapse(10_000);
    expect(h.agent.grants.has(uidOf(pod))).toBe(false);
  });
});

describe('a snapshot of files alone', () => {
  it('has no fingerprint, and only a Pod that asks for files gets it', async () => {
    await h.startController();
    await h.asleep({ contents: 'Files' });
    expect(h.agent.begun[0]).toMatchObject({ mode: 'Hibernate', contents: 'Files' });
    expect(h.agent.begun[0]?.files).toBeUndefined();
    expect(h.status()).toMatchObject({ hasFiles: true, phase: 'Ready' });
    expect(h.status().fingerprint).toBeUndefined();
    const wrong = h.addMarkedPod('wrong');
    await h.elapse(10_000);
    expect(h.agent.grants.has(uidOf(wrong))).toBe(false);
    const pod = h.addMarkedPod('notebook', { only: 'files' });
    await h.until(() => grantOf(pod) === 'files');
  });
});
