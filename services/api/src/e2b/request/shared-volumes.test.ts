import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../errors/api-error.ts';
import { readSharedVolumes } from './shared-volumes.ts';
import type { SharedVolume } from './shared-volumes.ts';

const PREFIX = 'e2b.agents.kruise.io/';
const KEYS = { pvName: 'csi-volume-name', mountPath: 'csi-mount-point', subPath: 'csi-subpath' } as const;
const GOOD = { pvName: 'dataset', mountPath: '/data' };

const readList = (list: unknown) => readSharedVolumes({ volumeConfig: JSON.stringify(list) });
const readSingle = ({ pvName, mountPath, subPath }: Readonly<Partial<Record<keyof typeof KEYS, string>>>) =>
  readSharedVolumes({ volumeName: pvName, volumeMountPoint: mountPath, volumeSubPath: subPath });

/** The message of the ApiError 400 that a reader throws. */
function readProblem(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return error.message;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** No volumes where the reader throws an ApiError 400. */
function readOrRefuse(read: () => readonly SharedVolume[] | undefined): readonly SharedVolume[] {
  try {
    return read() ?? [];
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return [];
    throw error;
  }
}

describe('the volumes of a create', () => {
  it('are the same from both spellings', () => {
    const expected = [{ name: 'dataset', mountPath: '/data', subPath: 'spring/raw' }];
    const volume = { ...GOOD, subPath: 'spring/raw' };
    expect(readSingle(volume)).toEqual(expected);
    expect(readList([volume])).toEqual(expected);
    expect(readSingle({ ...GOOD, subPath: '' })).toEqual(readList([{ ...GOOD, subPath: '', readOnly: false }]));
  });

  it('may be one volume several times, and read-only each', () => {
    const list = [
      { ...GOOD, readOnly: true },
      { ...GOOD, mountPath: '/data/more' },
    ];
    expect(readList(list)).toEqual([
      { name: 'dataset', mountPath: '/data', readOnly: true },
      { name: 'dataset', mountPath: '/data/more' },
    ]);
  });

  it('are absent without a key, and none in an empty list', () => {
    expect(readSharedVolumes({})).toBeUndefined();
    expect(readList([])).toEqual([]);
  });
});

describe('a volume that cannot be mounted', () => {
  const names = [
    '',
    '../team-b/dataset',
    'team-b/dataset',
    '..',
    '.',
    '/dataset',
    'Data',
    'a_b',
    'a b',
    '-a',
    'a-',
    'a..b',
  ];
  const more = ['a.', 'team-b%2Fdataset', 'dataset\n', 'dataset\0', 'dätaset', 'a'.repeat(254)];
  const paths = ['', '/', 'data', './data', '../data', '/../data', '/a/..', '/a/../b', '/a/./b', '/a//b', '/a/', '//a'];
  const others = ['/a:b', '/a\0', '/a\n', `/${'a'.repeat(1_024)}`];
  const folders = ['/', '/a', '..', '../a', 'a/..', 'a/../b', '.', './a', 'a//b', 'a/', 'a\0', 'a'.repeat(1_025)];

  it.each<[keyof typeof KEYS, string]>([
    ...[...names, ...more].map((text): ['pvName', string] => ['pvName', text]),
    ...[...paths, ...others].map((text): ['mountPath', string] => ['mountPath', text]),
    ...folders.map((text): ['subPath', string] => ['subPath', text]),
  ])('because of its %s %j is refused in the same words by both spellings, which name the key', (field, text) => {
    const volume = { ...GOOD, [field]: text };
    const single = readProblem(() => readSingle(volume));
    const listed = readProblem(() =>
      readList([GOOD, { ...volume, ...(field === 'mountPath' ? {} : { mountPath: '/b' }) }]),
    );
    expect(single).toContain(`${PREFIX}${KEYS[field]}: expected `);
    expect(listed).toContain(`${PREFIX}csi-volume-config[1].${field}: expected `);
    expect(single.slice(single.indexOf(': '))).toBe(listed.slice(listed.indexOf(': ')));
  });

  it.each<[string, { readonly mountPath?: string; readonly pvName?: string; readonly subPath?: string }, string]>([
    ['a name alone', { pvName: 'dataset' }, 'csi-mount-point: expected an absolute path such as /data'],
    ['a mount point alone', { mountPath: '/data' }, 'csi-volume-name: expected the name of a PersistentVolumeClaim'],
    ['a folder alone', { subPath: 'a' }, 'csi-volume-name: expected the name of a PersistentVolumeClaim'],
  ])('because the keys are not complete is refused: %s', (_case, keys, problem) => {
    const message = readProblem(() => readSingle(keys));
    expect(message).toContain(`${PREFIX}${problem}`);
    expect(message).toContain(', got nothing');
  });

  it.each<[string, string, string]>([
    ['text that is no JSON', 'dataset', ': expected JSON such as'],
    ['empty text', '', ': expected JSON such as'],
    ['an object', JSON.stringify(GOOD), ': expected a list of volumes, got a value of type object'],
    ['null', 'null', ': expected a list of volumes, got null'],
    ['a text in the list', '["dataset"]', '[0]: expected an object, got "dataset"'],
    ['a list in the list', '[[]]', '[0]: expected an object, got a list'],
    ['no name', '[{"mountPath":"/data"}]', '[0].pvName: expected the name of a PersistentVolumeClaim'],
    ['no path', '[{"pvName":"a"}]', '[0].mountPath: expected an absolute path'],
    ['a number as a name', '[{"pvName":1,"mountPath":"/a"}]', 'the API key, got a value of type number'],
    ['text for true', '[{"pvName":"a","mountPath":"/a","readOnly":"true"}]', '[0].readOnly: expected true or false'],
    ...['namespace', 'mountID', 'attributes', 'persistentVolumeName', 'pvcName'].map(
      (field): [string, string, string] => [
        `the field ${field}`,
        JSON.stringify([{ ...GOOD, [field]: 'team-b' }]),
        `[0]: expected no other fields than pvName, mountPath, subPath and readOnly, got "${field}"`,
      ],
    ),
    [
      'two volumes at one path',
      JSON.stringify([GOOD, { ...GOOD, pvName: 'other' }]),
      '[1].mountPath: expected another',
    ],
    [
      'more volumes than a claim may have',
      JSON.stringify(Array.from({ length: 21 }, (_, index) => ({ ...GOOD, mountPath: `/${index}` }))),
      ': expected at most 20 volumes',
    ],
    ['a value as deep as its length allows', '['.repeat(32_000) + ']'.repeat(32_000), '[0]: expected an object'],
    ['more text than volumes need', `[${' '.repeat(65_535)}]`, ': expected at most 65536 characters'],
  ])('because csi-volume-config has %s is refused', (_case, volumeConfig, problem) => {
    const message = readProblem(() => readSharedVolumes({ volumeConfig }));
    expect(message).toContain(`${PREFIX}csi-volume-config`);
    expect(message).toContain(problem);
    expect(message.length).toBeLessThan(400);
  });

  it('because both spellings contradict each other is refused, and the same twice is served', () => {
    const keys = { volumeName: 'dataset', volumeMountPoint: '/data' };
    const [volume] = [{ name: 'dataset', mountPath: '/data' }];
    expect(readSharedVolumes({ ...keys, volumeConfig: JSON.stringify([GOOD]) })).toEqual([volume]);
    const lists = [[], [GOOD, { ...GOOD, mountPath: '/b' }], [{ ...GOOD, readOnly: true }], [{ ...GOOD, pvName: 'b' }]];
    for (const list of lists) {
      const message = readProblem(() => readSharedVolumes({ ...keys, volumeConfig: JSON.stringify(list) }));
      expect(message).toContain('contradict each other');
      expect(message).toContain(`${PREFIX}csi-volume-config and ${PREFIX}csi-volume-name`);
    }
  });
});

describe('any text of a tenant', () => {
  const piece = fc.oneof(
    fc.constantFrom('..', '.', '/', 'team-b', 'dataset', '%2F', '\\', ':', '\0', '\n', 'A', '-', ''),
    fc.string({ maxLength: 4 }),
  );
  const text = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''));

  const volume = fc.record({
    pvName: fc.oneof(text, fc.constant('dataset')),
    mountPath: fc.oneof(
      text.map((path) => `/${path}`),
      text,
    ),
    subPath: fc.oneof(text, fc.constant('')),
  });

  it('is refused, or is a name that an object of the namespace can have, below an absolute path', () => {
    fc.assert(
      fc.property(volume, (given) => {
        for (const read of [() => readSingle(given), () => readList([given])]) {
          for (const { name, mountPath, subPath = 'a' } of readOrRefuse(read)) {
            expect(name).toMatch(/^[a-z0-9]+([.-]+[a-z0-9]+)*$/);
            expect(mountPath[0]).toBe('/');
            for (const path of [mountPath.slice(1), subPath])
              expect(path.split('/').some((part) => ['', '.', '..'].includes(part))).toBe(false);
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
