// The control keys of OpenKruise Agents in the metadata of a create (docs/reference/e2b-api.md#extension-keys).
import type { Cpu } from '@sandlot/api-types';
import { badRequest } from '../../errors/api-error.ts';
import { notPossible } from '../../errors/refusals.ts';
import { CONTROL_PREFIX } from './control-prefix.ts';
import { combineCpu, readCpuQuantity } from './cpu-quantity.ts';
import { combineFailedRetention, readFailedRetention } from './failed-retention.ts';
import type { FailedRetention } from './failed-retention.ts';
import { parseRetention, RETENTION_EXPECTED } from './retention.ts';
import { readSandboxName, readSandboxNamePrefix } from './sandbox-name.ts';
import type { SandboxNameWish } from './sandbox-name.ts';
import { readSharedVolumes } from './shared-volumes.ts';
import type { SharedVolume, VolumeKeys } from './shared-volumes.ts';

/** The longest wait that a client may ask for. */
const MAX_WAIT_SECONDS = 600;

/** The parsed control keys; a field is absent if its key is. */
export interface ControlKeys {
  readonly createTimeoutMs?: number;
  readonly waitReadySeconds?: number;
  readonly createOnNoStock?: boolean;
  readonly neverTimeout?: boolean;
  readonly returnSandboxIp?: boolean;
  /** A duration, or `forever`. */
  readonly pausedRetention?: string;
  readonly skipInitRuntime?: boolean;
  readonly image?: string;
  readonly cpu?: Cpu;
  readonly keepFailed?: FailedRetention;
  readonly sandboxName?: SandboxNameWish;
  readonly sharedVolumes?: readonly SharedVolume[];
}

/** The keys as they are written. Some of them say one thing. */
type Written = ControlKeys &
  VolumeKeys & {
    readonly keepFailedFor?: FailedRetention;
    readonly sandboxNamePrefix?: SandboxNameWish;
    readonly cpuRequest?: string;
    readonly cpuLimit?: string;
  };

type Reader = (value: string, key: string) => Written;

const READERS: Readonly<Record<string, Reader>> = {
  'claim-timeout-seconds': (value, key) => ({ createTimeoutMs: readSeconds(value, key) * 1_000 }),
  'wait-ready-timeout-seconds': (value, key) => ({ waitReadySeconds: readSeconds(value, key) }),
  'create-on-no-stock': (value) => ({ createOnNoStock: value !== 'false' }),
  'never-timeout': (value, key) => ({ neverTimeout: readFlag(value, key) }),
  'return-sandbox-ip': (value, key) => ({ returnSandboxIp: readFlag(value, key) }),
  'reserve-paused-sandbox-duration': (value, key) => ({ pausedRetention: readRetention(value, key) }),
  'skip-init-runtime': (value, key) => ({ skipInitRuntime: readFlag(value, key) }),
  image: (value, key) => {
    if (value === '') throw badRequest(`${key}: expected the name of an image`);
    return { image: value };
  },
  'cpu-request': (value, key) => ({ cpuRequest: readCpuQuantity(value, key) }),
  'cpu-limit': (value, key) => ({ cpuLimit: readCpuQuantity(value, key) }),
  'reserve-failed-sandbox': (value, key) => ({ keepFailed: readFailedRetention(value, key) }),
  'reserve-failed-sandbox-for': (value, key) => ({ keepFailedFor: readFailedRetention(value, key) }),
  'sandbox-name': (value, key) => ({ sandboxName: readSandboxName(value, key) }),
  'sandbox-generate-name': (value, key) => ({ sandboxNamePrefix: readSandboxNamePrefix(value, key) }),
  'csi-volume-name': (value) => ({ volumeName: value }),
  'csi-mount-point': (value) => ({ volumeMountPoint: value }),
  'csi-subpath': (value) => ({ volumeSubPath: value }),
  'csi-volume-config': (value) => ({ volumeConfig: value }),
};

/** Separates the user's metadata from the control keys. Throws an ApiError 400 for an unknown or malformed control key. */
export function splitMetadata(metadata: Readonly<Record<string, string>>): {
  readonly metadata: Readonly<Record<string, string>>;
  readonly keys: ControlKeys;
} {
  const own = Object.entries(metadata).filter(([key]) => !key.startsWith(CONTROL_PREFIX));
  let keys: Written = {};
  for (const [key, value] of Object.entries(metadata)) {
    if (!key.startsWith(CONTROL_PREFIX)) continue;
    const name = key.slice(CONTROL_PREFIX.length);
    const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
    if (read === undefined) throw notPossible(`metadata key "${key}" is not supported by this installation`);
    keys = { ...keys, ...read(value, key) };
  }
  return { metadata: Object.fromEntries(own), keys: combine(keys) };
}

function combine(written: Written): ControlKeys {
  const { volumeName, volumeMountPoint, volumeSubPath, volumeConfig, ...others } = written;
  const { keepFailed: kept, keepFailedFor: keptFor, sandboxNamePrefix, cpuRequest, cpuLimit, ...rest } = others;
  if (rest.sandboxName !== undefined && sandboxNamePrefix !== undefined) {
    throw badRequest('sandbox-name and sandbox-generate-name exclude each other: send one of them');
  }
  const keepFailed = combineFailedRetention({ kept, keptFor });
  const sandboxName = rest.sandboxName ?? sandboxNamePrefix;
  const sharedVolumes = readSharedVolumes({ volumeName, volumeMountPoint, volumeSubPath, volumeConfig });
  const keys = {
    ...rest,
    ...(keepFailed === undefined ? {} : { keepFailed }),
    ...(sandboxName === undefined ? {} : { sandboxName }),
    ...combineCpu({ request: cpuRequest, limit: cpuLimit }),
    ...(sharedVolumes === undefined ? {} : { sharedVolumes }),
  };
  assertNameFits(keys);
  assertVolumesFit(keys);
  return keys;
}

/** A warm sandbox has its name already, and a failed one that is kept would hold the name that the next try needs. */
function assertNameFits({ sandboxName, createOnNoStock, keepFailed = false }: ControlKeys): void {
  if (sandboxName === undefined) return;
  if (createOnNoStock === false) {
    throw badRequest('a sandbox with a chosen name is not taken from the pool: create-on-no-stock=false excludes it');
  }
  if (keepFailed !== false) throw badRequest('reserve-failed-sandbox excludes a chosen name of the sandbox');
}

/** Nothing can be mounted into a sandbox that runs, and no claim has volumes beside skipInitRuntime. */
function assertVolumesFit({ sharedVolumes = [], createOnNoStock, skipInitRuntime }: ControlKeys): void {
  if (sharedVolumes.length === 0) return;
  const keys = 'csi-volume-config and csi-volume-name';
  if (createOnNoStock === false) {
    throw badRequest(`a sandbox with volumes is not taken from the pool: create-on-no-stock=false excludes ${keys}`);
  }
  if (skipInitRuntime === true) throw badRequest(`skip-init-runtime=true excludes ${keys}`);
}

function readRetention(value: string, key: string): string {
  const retention = parseRetention(value);
  if (retention === undefined) throw badRequest(`${key}: ${RETENTION_EXPECTED}, got "${value}"`);
  return retention;
}

function readSeconds(value: string, key: string): number {
  const seconds = /^\d{1,6}$/.test(value) ? Number(value) : 0;
  if (seconds >= 1 && seconds <= MAX_WAIT_SECONDS) return seconds;
  throw badRequest(`${key}: expected whole seconds from 1 to ${MAX_WAIT_SECONDS}, got "${value}"`);
}

function readFlag(value: string, key: string): boolean {
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw badRequest(`${key}: expected true or false, got "${value}"`);
}
