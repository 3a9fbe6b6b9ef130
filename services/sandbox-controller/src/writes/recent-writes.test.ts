import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { RecentWrites, TRUST_MS } from './recent-writes.ts';
import { NOW, notebook, podOf, published, snapshotOf } from '../../test/builders.ts';

const KEY = 'team-a/notebook';
const sandbox = notebook();
const pod = { ...podOf(sandbox), kind: 'Pod' };
const ready = published(snapshotOf({ ownedPods: [pod] }));
const written = { ...ready, metadata: { ...ready.metadata, resourceVersion: '9' } };

function start() {
  const clock = new FakeClock();
  return { clock, recent: new RecentWrites(clock) };
}

describe('what was written and the cache does not show', () => {
  it('is a created object, until the cache shows anything under its key', () => {
    const { recent } = start();
    recent.created(pod);
    expect(recent.latest('Pod', KEY, undefined)).toBe(pod);
    recent.observed('Pod', { key: KEY, old: undefined, next: pod });
    expect(recent.latest('Pod', KEY, undefined)).toBeUndefined();
  });

  it('never hides what the cache shows', () => {
    const { recent } = start();
    recent.created(pod);
    const newer = { ...pod, metadata: { ...pod.metadata, uid: 'uid-newer' } };
    expect(recent.latest('Pod', KEY, newer)).toBe(newer);
  });

  it('is forgotten after a while, for the cache may know better', async () => {
    const { clock, recent } = start();
    recent.created(pod);
    recent.published(written);
    await clock.advance(TRUST_MS);
    expect(recent.latest('Pod', KEY, undefined)).toBeUndefined();
    expect(recent.latestSandbox(sandbox)).toBe(sandbox);
  });

  it('is a deletion of this incarnation, until the Pod is gone', () => {
    const { recent } = start();
    recent.deleted(pod);
    expect(recent.latest('Pod', KEY, pod)?.metadata.deletionTimestamp).toBeDefined();
    const terminating = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: NOW } };
    expect(recent.latest('Pod', KEY, terminating)).toBe(terminating);
    const successor = { ...pod, metadata: { ...pod.metadata, uid: 'uid-next' } };
    expect(recent.latest('Pod', KEY, successor)).toBe(successor);
    recent.observed('Pod', { key: KEY, old: pod, next: undefined });
    expect(recent.latest('Pod', KEY, pod)).toBe(pod);
  });

  it('is the status and the Pod name of the Sandbox, on whatever else the cache shows', () => {
    const { recent } = start();
    recent.published(written);
    const edited = notebook({ spec: { replicas: 0 }, metadata: { annotations: { a: 'b' } } });
    expect(recent.latestSandbox(edited)).toEqual({
      ...edited,
      metadata: { ...edited.metadata, annotations: { a: 'b', 'agents.x-k8s.io/pod-name': 'notebook' } },
      status: ready.status,
    });
  });

  it('is the whole Sandbox while the cache shows the spec of an earlier generation', () => {
    const { recent } = start();
    const later = { ...written, metadata: { ...written.metadata, generation: 2 } };
    recent.published(later);
    expect(recent.latestSandbox(sandbox)).toBe(later);
  });

  it('is a Pod name that was removed', () => {
    const { recent } = start();
    recent.published({ ...sandbox, metadata: { ...sandbox.metadata, resourceVersion: '9' } });
    expect(recent.latestSandbox(ready).metadata.annotations).toEqual({});
  });

  it.each([
    ['shows that write', { old: sandbox, next: written }],
    ['shows that the Sandbox is gone', { old: sandbox, next: undefined }],
  ])('is no longer needed once the cache %s', (_, change) => {
    const { recent } = start();
    recent.published(written);
    recent.observed('Sandbox', { key: KEY, ...change });
    expect(recent.latestSandbox(sandbox)).toBe(sandbox);
  });

  it('outlives an older event of the Sandbox', () => {
    const { recent } = start();
    recent.published(written);
    recent.observed('Sandbox', { key: KEY, old: undefined, next: sandbox });
    expect(recent.latestSandbox(sandbox).status).toEqual(ready.status);
  });
});
