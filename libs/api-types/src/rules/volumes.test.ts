import { describe, expect, it } from 'vitest';
import { annotations } from '../catalogue/keys.ts';
import {
  buildTombstone,
  buildVolumeObject,
  findMountedVolume,
  formatMountedVolumes,
  formatVolumeObjectName,
  isForeignVolumeMount,
  listMountedVolumes,
  readVolumeObject,
  VOLUMES_NAME,
} from './volumes.ts';

const ID = '11111111-2222-4333-8444-555555555555';
const volume = { id: ID, name: 'data', namespace: 'team-a' };

describe('the ConfigMap of a volume', () => {
  it('says what the volume is, and so does its tombstone', () => {
    expect(readVolumeObject(buildVolumeObject(volume, 'registry'))).toEqual({ volume, isTombstone: false });
    const gone = { volume: { ...volume, name: '' }, isTombstone: true };
    expect(readVolumeObject(buildTombstone(volume, 'registry'))).toEqual(gone);
  });

  it('has another name for each namespace and name', () => {
    const names = [
      ['team-a', 'data'],
      ['team-b', 'data'],
      ['team-a', 'Data'],
      ['team', 'a-data'],
    ].map(([namespace = '', name = '']) => formatVolumeObjectName(namespace, name));
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^vol-[0-9a-f]{40}$/);
  });

  it.each([
    ['without data', { data: undefined }],
    ['with an id that is a path', { data: { id: '../x', name: 'data', namespace: 'team-a' } }],
    ['of another name', { data: { id: ID, name: 'other', namespace: 'team-a' } }],
    ['of another namespace than its label', { data: { id: ID, name: 'data', namespace: 'team-b' } }],
  ])('%s is none', (_, change) => {
    expect(readVolumeObject({ ...buildVolumeObject(volume, 'registry'), ...change })).toBeUndefined();
  });
});

describe('a mount', () => {
  it('is of one volume by its id, and of nothing else on that disk', () => {
    const disk = { persistentVolumeClaimName: VOLUMES_NAME };
    expect(findMountedVolume({ ...disk, subPath: ID })).toBe(ID);
    expect(findMountedVolume({ persistentVolumeClaimName: 'other', subPath: ID })).toBeUndefined();
    expect(isForeignVolumeMount({ ...disk, subPath: ID })).toBe(false);
    for (const subPath of [undefined, '', '.', `${ID}/`, `${ID}/x`, ID.toUpperCase().replace('5', 'A'), '.uploads'])
      expect(isForeignVolumeMount({ ...disk, subPath })).toBe(true);
    expect(isForeignVolumeMount({ persistentVolumeClaimName: 'other' })).toBe(false);
  });
});

describe('the volumes that a claim says it mounts', () => {
  it('are read as they were written, and none from what is malformed', () => {
    const mounted = [{ id: ID, name: 'data', path: '/data' }];
    const text = formatMountedVolumes(mounted);
    expect(listMountedVolumes({ metadata: { annotations: { [annotations.volumeMounts]: text ?? '' } } })).toEqual(
      mounted,
    );
    expect(formatMountedVolumes([])).toBeUndefined();
    for (const bad of ['', '{', '{}', '[1]', '[{"id":1}]'])
      expect(listMountedVolumes({ metadata: { annotations: { [annotations.volumeMounts]: bad } } })).toEqual([]);
    expect(listMountedVolumes({ metadata: {} })).toEqual([]);
  });
});
