// Control keys in the metadata of a create, as OpenKruise Agents has them (E2B contract, section 2.7).
import { parseDurationMs } from '@sandlot/std';
import { badRequest } from '../../errors/api-error.ts';

export const KRUISE_PREFIX = 'e2b.agents.kruise.io/';

/** Longest time that a caller may make the api wait. */
const MAX_WAIT_SECONDS = 600;

/** What the keys ask for; a field is absent when its key is. */
export interface KruiseKeys {
  readonly createTimeoutMs?: number;
  readonly waitReadySeconds?: number;
  readonly createOnNoStock?: boolean;
  readonly neverTimeout?: boolean;
  readonly returnSandboxIp?: boolean;
  /** A duration, or `forever`. */
  readonly pausedRetention?: string;
  readonly skipInitRuntime?: boolean;
  readonly image?: string;
  readonly reserveFailedSandbox?: boolean;
}

type Reader = (value: string, key: string) => KruiseKeys;

const READERS: Readonly<Record<string, Reader>> = {
  'claim-timeout-seconds': (value, key) => ({ createTimeoutMs: secondsIn(value, key) * 1_000 }),
  'wait-ready-timeout-seconds': (value, key) => ({ waitReadySeconds: secondsIn(value, key) }),
  'create-on-no-stock': (value) => ({ createOnNoStock: value !== 'false' }),
  'never-timeout': (value, key) => ({ neverTimeout: flagIn(value, key) }),
  'return-sandbox-ip': (value, key) => ({ returnSandboxIp: flagIn(value, key) }),
  'reserve-paused-sandbox-duration': (value, key) => ({ pausedRetention: retentionIn(value, key) }),
  'skip-init-runtime': (value, key) => ({ skipInitRuntime: flagIn(value, key) }),
  image: (value, key) => {
    if (value === '') throw badRequest(`${key}: expected the name of an image`);
    return { image: value };
  },
  'reserve-failed-sandbox': (value) => ({ reserveFailedSandbox: value !== 'never' && value !== 'false' }),
  'reserve-failed-sandbox-for': (value, key) => ({ reserveFailedSandbox: retentionIn(value, key) !== 'never' }),
};

/** Splits what a user says about a sandbox from what it asks of us. Throws an ApiError 400 for a key that we do not serve. */
export function splitMetadata(metadata: Readonly<Record<string, string>>): {
  readonly metadata: Readonly<Record<string, string>>;
  readonly keys: KruiseKeys;
} {
  const own = Object.entries(metadata).filter(([key]) => !key.startsWith(KRUISE_PREFIX));
  let keys: KruiseKeys = {};
  for (const [key, value] of Object.entries(metadata)) {
    if (!key.startsWith(KRUISE_PREFIX)) continue;
    const name = key.slice(KRUISE_PREFIX.length);
    const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
    if (read === undefined) throw badRequest(`metadata key "${key}" is not supported by this installation`);
    keys = { ...keys, ...read(value, key) };
  }
  return { metadata: Object.fromEntries(own), keys };
}

/** How long paused sandboxes are kept: a duration such as 30m, or seconds, or `forever`. */
export function retentionIn(value: string, key: string): string {
  if (value === 'forever' || value === 'never') return value;
  if (/^\d{1,9}$/.test(value)) return `${value}s`;
  if (parseDurationMs(value) !== undefined) return value;
  throw badRequest(`${key}: expected forever or a duration such as 30m, got "${value}"`);
}

function secondsIn(value: string, key: string): number {
  const seconds = /^\d{1,6}$/.test(value) ? Number(value) : 0;
  if (seconds >= 1 && seconds <= MAX_WAIT_SECONDS) return seconds;
  throw badRequest(`${key}: expected whole seconds from 1 to ${MAX_WAIT_SECONDS}, got "${value}"`);
}

function flagIn(value: string, key: string): boolean {
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw badRequest(`${key}: expected true or false, got "${value}"`);
}
