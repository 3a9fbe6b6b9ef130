import { describe, expect, it } from 'vitest';
import { decideImages } from './decide-images.ts';
import type { ImageScene, StoredImage } from './decide-images.ts';

const NOW = Date.UTC(2026, 0, 2);
const HOUR = 3_600_000;
const digest = `sha256:${'a'.repeat(64)}`;
const other = `sha256:${'b'.repeat(64)}`;
const none = { uids: new Set<string>(), digests: new Set<string>(), namespaces: new Set<string>() };
const image: StoredImage = { tag: 'tag', build: 'build', digest };
const at = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
const marked = (sinceMs: number, of = digest) => ({ marks: new Map([['tag', { digest: of, since: at(sinceMs) }]]) });

const decide = (scene: Partial<ImageScene> = {}) =>
  decideImages({
    nowMs: NOW,
    graceMs: HOUR,
    namespace: 'team',
    images: [image],
    entry: { marks: new Map() },
    mentions: none,
    ...scene,
  });

describe('an image that nothing mentions', () => {
  it('is marked first, with its digest and the time', () => {
    expect(decide()).toEqual({ entry: marked(NOW), deletions: [], kept: 0, waiting: 1 });
  });

  it.each([
    ['stays until the grace period is over', marked(NOW - HOUR + 1_000), 0],
    ['goes when the grace period is over', marked(NOW - HOUR), 1],
    ['begins to wait anew when its tag points at another image', marked(NOW - 2 * HOUR, other), 0],
    ['begins to wait anew when its mark is of the future', marked(NOW + HOUR), 0],
    ['begins to wait anew when its mark has no time', { marks: new Map([['tag', { digest, since: 'yesterday' }]]) }, 0],
  ])('%s', (_, entry, deletions) => {
    expect(decide({ entry }).deletions).toHaveLength(deletions);
  });

  it('keeps its mark while it goes, so that a pass that dies does not begin anew', () => {
    const entry = marked(NOW - HOUR);
    expect(decide({ entry })).toEqual({ entry, deletions: [{ tag: 'tag', digest }], kept: 0, waiting: 0 });
  });
});

describe('an image', () => {
  const due = marked(NOW - 2 * HOUR);
  it.each([
    ['whose build is mentioned', { ...none, uids: new Set(['build']) }],
    ['whose digest is mentioned', { ...none, digests: new Set([digest]) }],
  ])('%s stays, and loses its mark', (_, mentions) => {
    expect(decide({ entry: due, mentions })).toEqual({
      entry: { marks: new Map() },
      deletions: [],
      kept: 1,
      waiting: 0,
    });
  });

  it('that the registry was not asked about stays', () => {
    const plan = decide({ entry: due, images: [{ tag: 'tag', build: 'build' }] });
    expect(plan.deletions).toEqual([]);
  });
});

describe('a namespace without images', () => {
  const [images, empty] = [[], { marks: new Map(), emptySince: at(NOW - HOUR) }];
  it('leaves the record once it has been empty for the grace period', () => {
    expect(decide({ images }).entry).toEqual({ marks: new Map(), emptySince: at(NOW) });
    expect(decide({ images, entry: { ...empty, emptySince: at(NOW - 1_000) } }).entry).toBeDefined();
    expect(decide({ images, entry: empty }).entry).toBeUndefined();
  });

  it('stays in the record while it has objects: a build may be about to push', () => {
    const mentions = { ...none, namespaces: new Set(['team']) };
    expect(decide({ images, entry: empty, mentions }).entry).toEqual({ marks: new Map() });
  });
});
