import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide } from './decide.ts';
import { parts } from './plan/scene.ts';
import type { Part, Present, Registered, Scene } from './plan/scene.ts';

const registered = (id: string): Registered => ({
  volume: { id, name: id, namespace: 'team-a' },
  objectName: `vol-${id}`,
  uid: `uid-${id}`,
});
const [ONE, TWO] = [registered('one'), registered('two')];
const GOOD: Present = { isOurs: true, isEnding: false, isCurrent: true };
const ENDING: Present = { ...GOOD, isEnding: true };
const all = (present: Present): Record<Part, Present> => ({
  disk: present,
  policy: present,
  service: present,
  server: present,
});

/** The steps of a scene, as words. */
function plan(scene: Partial<Scene>): readonly string[] {
  const { steps } = decide({ live: [], halfGone: [], tombstones: [], present: {}, ...scene });
  return steps.map((step) =>
    'part' in step ? `${step.kind} ${step.part}` : `${step.kind} ${step.registered.volume.id}`,
  );
}

describe('a namespace with volumes', () => {
  it.each<readonly [string, Partial<Scene>, readonly string[]]>([
    ['gets everything', {}, ['write disk', 'write policy', 'write service', 'write server']],
    ['is left alone once it has everything', { present: all(GOOD) }, []],
    ['gets anew what differs', { present: { ...all(GOOD), server: { ...GOOD, isCurrent: false } } }, ['write server']],
    [
      'waits for a disk on its way out, without a file server that would hold it',
      { present: { disk: ENDING } },
      ['write policy', 'write service'],
    ],
    ['waits for a file server on its way out', { present: { ...all(GOOD), server: ENDING } }, []],
    ['gets nothing beside what is not ours', { present: { disk: { ...GOOD, isOurs: false } } }, ['report-taken disk']],
    ['loses the data of deleted volumes', { present: all(GOOD), tombstones: [TWO] }, ['remove-data two']],
    [
      'keeps tombstones until its file server is as it should be',
      { present: {}, tombstones: [TWO] },
      ['write disk', 'write policy', 'write service', 'write server'],
    ],
    [
      'forgets a volume that the API had begun to delete',
      { present: all(GOOD), halfGone: [TWO], tombstones: [TWO] },
      ['forget two', 'remove-data two'],
    ],
  ])('%s', (_, scene, steps) => expect(plan({ live: [ONE], ...scene })).toEqual(steps));
});

describe('a namespace whose last volume is deleted', () => {
  it.each<readonly [string, Partial<Scene>, readonly string[]]>([
    ['first loses its file server', { present: all(GOOD), tombstones: [ONE] }, ['delete server']],
    ['waits for its end', { present: { ...all(GOOD), server: ENDING }, tombstones: [ONE] }, []],
    [
      'then loses its disk',
      { present: { disk: GOOD, policy: GOOD, service: GOOD }, tombstones: [ONE] },
      ['delete disk'],
    ],
    ['waits while a sandbox uses that', { present: { disk: ENDING, service: GOOD }, tombstones: [ONE] }, []],
    [
      'then loses everything else, and at last the tombstones',
      { present: { policy: GOOD, service: GOOD }, tombstones: [ONE] },
      ['delete service', 'delete policy', 'forget one'],
    ],
    ['keeps what is not ours', { present: all({ ...GOOD, isOurs: false }), tombstones: [ONE] }, ['forget one']],
  ])('%s', (_, scene, steps) => expect(plan(scene)).toEqual(steps));
});

const present = fc.option(fc.record({ isOurs: fc.constant(true), isEnding: fc.boolean(), isCurrent: fc.boolean() }), {
  nil: undefined,
});
const scenes = fc.record({
  live: fc.subarray([ONE]),
  halfGone: fc.constant<Registered[]>([]),
  tombstones: fc.subarray([TWO]),
  present: fc
    .record({ disk: present, policy: present, service: present, server: present })
    .map((some) => Object.fromEntries(parts.flatMap((part) => (some[part] === undefined ? [] : [[part, some[part]]])))),
});

describe('a plan', () => {
  it('never deletes a disk while there is a volume or a file server', () => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const deletesDisk = plan(scene).includes('delete disk');
        expect(deletesDisk && (scene.live.length > 0 || scene.present['server'] !== undefined)).toBe(false);
      }),
    );
  });
});
