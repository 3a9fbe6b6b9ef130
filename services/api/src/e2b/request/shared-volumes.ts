// Volumes that a create names by the keys of OpenKruise (docs/reference/e2b-api.md#volumes-of-a-create).
import { VOLUMES_NAME } from '@sandlot/api-types';
import { z } from 'zod';
import { badRequest } from '../../errors/api-error.ts';
import { CONTROL_PREFIX } from './control-prefix.ts';

/** A PersistentVolumeClaim of the API key's namespace, and where the sandbox has it. */
export interface SharedVolume {
  readonly name: string;
  readonly mountPath: string;
  /** A folder of the volume; absent: all of it. */
  readonly subPath?: string;
  /** Absent: the sandbox may write. */
  readonly readOnly?: true;
}

/** The keys as they are written. */
export interface VolumeKeys {
  readonly volumeName?: string | undefined;
  readonly volumeMountPoint?: string | undefined;
  readonly volumeSubPath?: string | undefined;
  /** JSON. */
  readonly volumeConfig?: string | undefined;
}

/** As many as a claim may have. */
const MOST_VOLUMES = 20;
const LONGEST_NAME = 253;
const LONGEST_PATH = 1_024;
/** More than as many volumes with the longest names and paths need. */
const LONGEST_CONFIG = 65_536;
/** Much of a value that an error repeats. */
const MOST_SHOWN = 80;
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Volumes of the E2B API are mounted by their own names. */
const isName = (text: string): boolean => text.length <= LONGEST_NAME && NAME.test(text) && text !== VOLUMES_NAME;

/** No container could have another path, and two spellings of one path would be two mounts. */
function isPlainPath(path: string): boolean {
  if (path.length > LONGEST_PATH || /\p{Cc}/u.test(path)) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

const isMountPath = (path: string): boolean =>
  path.startsWith('/') && path.length <= LONGEST_PATH && !path.includes(':') && isPlainPath(path.slice(1));

/** What an error repeats of a value. What is nested as deeply as JSON allows cannot be printed. */
function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value).slice(0, MOST_SHOWN);
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}

function explain(expected: string): (issue: { readonly input?: unknown }) => string {
  return ({ input }) => `expected ${expected}, got ${show(input)}`;
}

function buildText(isValid: (text: string) => boolean, expected: string) {
  const error = explain(expected);
  return z.string({ error }).refine(isValid, { error });
}

const volume = z.strictObject(
  {
    pvName: buildText(isName, 'the name of a PersistentVolumeClaim in the namespace of the API key'),
    mountPath: buildText(isMountPath, 'an absolute path such as /data, without ".", "..", ":" and empty parts'),
    subPath: buildText(
      (path) => path === '' || isPlainPath(path),
      'a relative path such as spring/raw, without ".", ".." and empty parts',
    ).optional(),
    readOnly: z.boolean({ error: explain('true or false') }).optional(),
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `expected no other fields than pvName, mountPath, subPath and readOnly, got ${show(issue.keys[0])}`
        : explain('an object')(issue),
  },
);
const volumes = z
  .array(volume, { error: explain('a list of volumes') })
  .max(MOST_VOLUMES, `expected at most ${MOST_VOLUMES} volumes`);

type Volumes = z.output<typeof volumes>;
/** What an error names: a key, or a place in it. Both are undefined where the error is about all volumes. */
type FormatPlace = (index: PropertyKey | undefined, field: PropertyKey | undefined) => string;

const VOLUME_NAME = `${CONTROL_PREFIX}csi-volume-name`;
const VOLUME_CONFIG = `${CONTROL_PREFIX}csi-volume-config`;
/** The keys of a single volume, by the field of {@link VOLUME_CONFIG} that says the same. */
const KEYS: ReadonlyMap<PropertyKey | undefined, string> = new Map([
  ['pvName', VOLUME_NAME],
  ['mountPath', `${CONTROL_PREFIX}csi-mount-point`],
  ['subPath', `${CONTROL_PREFIX}csi-subpath`],
]);

const formatKey: FormatPlace = (_index, field) => KEYS.get(field) ?? VOLUME_NAME;
const formatListPlace: FormatPlace = (index, field) =>
  [VOLUME_CONFIG, index === undefined ? '' : `[${String(index)}]`, field === undefined ? '' : `.${String(field)}`].join(
    '',
  );

/** What both spellings say; undefined without a key. Throws an ApiError 400 that names the key. */
export function readSharedVolumes(keys: VolumeKeys): readonly SharedVolume[] | undefined {
  const { volumeName: pvName, volumeMountPoint: mountPath, volumeSubPath: subPath, volumeConfig } = keys;
  const isSingle = [pvName, mountPath, subPath].some((text) => text !== undefined);
  const single = isSingle ? readVolumes([{ pvName, mountPath, subPath }], formatKey) : undefined;
  const listed = volumeConfig === undefined ? undefined : readVolumes(parseConfig(volumeConfig), formatListPlace);
  if (single !== undefined && listed !== undefined && JSON.stringify(single) !== JSON.stringify(listed)) {
    throw badRequest(`${VOLUME_CONFIG} and ${VOLUME_NAME} contradict each other: send one of them`);
  }
  return listed ?? single;
}

function parseConfig(text: string): unknown {
  if (text.length > LONGEST_CONFIG) throw badRequest(`${VOLUME_CONFIG}: expected at most ${LONGEST_CONFIG} characters`);
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest(`${VOLUME_CONFIG}: expected JSON such as [{"pvName": "dataset", "mountPath": "/data"}]`);
  }
}

function readVolumes(given: unknown, formatPlace: FormatPlace): readonly SharedVolume[] {
  const result = volumes.safeParse(given);
  if (result.success) {
    assertOwnPaths(result.data, formatPlace);
    return result.data.map(tidyVolume);
  }
  const [issue] = result.error.issues;
  throw badRequest(`${formatPlace(issue?.path[0], issue?.path[1])}: ${issue?.message ?? ''}`);
}

function assertOwnPaths(given: Volumes, formatPlace: FormatPlace): void {
  const paths = given.map(({ mountPath }) => mountPath);
  const repeated = paths.findIndex((path, index) => paths.indexOf(path) < index);
  if (repeated === -1) return;
  const place = formatPlace(repeated, 'mountPath');
  throw badRequest(`${place}: expected another path for each volume, got ${show(paths[repeated])} twice`);
}

function tidyVolume({ pvName, mountPath, subPath = '', readOnly }: Volumes[number]): SharedVolume {
  return {
    name: pvName,
    mountPath,
    ...(subPath === '' ? {} : { subPath }),
    ...(readOnly === true ? { readOnly } : {}),
  };
}
