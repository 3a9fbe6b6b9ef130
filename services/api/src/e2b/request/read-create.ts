import { isReservedKey } from '@sandlot/api-types';
import { badRequest } from '../../errors/api-error.ts';
import { notPossible } from '../../errors/refusals.ts';
import type { Allowance } from '../../limits/allowance.ts';
import { splitMetadata } from './control-keys.ts';
import type { ControlKeys } from './control-keys.ts';
import { readEgress } from './egress.ts';
import type { EgressRequest } from './egress.ts';
import type { NewSandbox } from './schemas.ts';
import { assertTimeout } from './timeout.ts';
import { readVolumeMounts } from './volume-mounts.ts';
import type { VolumeMountRequest } from './volume-mounts.ts';

/** A create with all its fields checked; nothing of it refers to Kubernetes yet. */
export interface CreateRequest extends EgressRequest {
  readonly templateID: string;
  readonly timeoutSeconds: number;
  readonly autoPause: boolean;
  /** Whether the pause at its end may keep its memory. */
  readonly autoPauseMemory: boolean;
  readonly autoResume: boolean;
  readonly allowPublicTraffic: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  /** From metadata keys `label:<k>`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly envs: readonly (readonly [name: string, value: string])[];
  readonly volumeMounts: readonly VolumeMountRequest[];
  readonly control: ControlKeys;
  /** Whether the request has any control key of OpenKruise. */
  readonly hasControlKeys: boolean;
}

/** All annotations of an object together may take 256 KiB. */
const MAX_METADATA_BYTES = 65_536;
const MAX_ENVS = 200;
const LABEL_PREFIX = 'label:';
const LABEL_KEY = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;

/** Checks the body of a create. Throws an ApiError 400 that names the first field which cannot be served. */
export function readCreate(body: NewSandbox, limits: Pick<Allowance, 'maxTimeoutSeconds'>): CreateRequest {
  const { metadata, keys } = splitMetadata(body.metadata ?? {});
  assertTimeout(body.timeout, limits.maxTimeoutSeconds);
  assertServed(body);
  const egress = readEgress(body.network, body.allow_internet_access);
  assertMetadataSize(metadata);
  const envs = Object.entries(body.envVars ?? {});
  assertEnvs(envs);
  if (keys.skipInitRuntime === true && envs.length > 0)
    throw badRequest('envVars need the runtime that skip-init-runtime leaves out');
  return {
    templateID: body.templateID,
    timeoutSeconds: body.timeout,
    autoPause: body.autoPause === true,
    autoPauseMemory: body.autoPauseMemory !== false,
    autoResume: body.autoResume?.enabled === true,
    allowPublicTraffic: body.network?.allowPublicTraffic !== false,
    ...egress,
    metadata,
    labels: readLabels(metadata),
    envs,
    volumeMounts: readVolumeMounts(body.volumeMounts ?? [], keys),
    control: keys,
    hasControlKeys: Object.keys(keys).length > 0,
  };
}

type Check = readonly [isRefused: (body: NewSandbox) => boolean, problem: string];

/** Fields that exclude each other (docs/reference/e2b-api.md#create). */
const CONTRADICTIONS: readonly Check[] = [
  [
    ({ autoPause, autoPauseMemory }) => autoPauseMemory === false && autoPause !== true,
    'autoPauseMemory: false needs autoPause',
  ],
  [
    ({ autoPauseMemory, autoResume }) => autoPauseMemory === false && autoResume?.enabled === true,
    'autoPauseMemory: false excludes autoResume',
  ],
  [({ autoPause, autoResume }) => autoResume?.enabled === true && autoPause !== true, 'autoResume needs autoPause'],
];

/** Fields that the API refuses, because they would have no effect (docs/reference/e2b-api.md#create). */
const NOT_SERVED: readonly Check[] = [
  [({ iam }) => iam !== undefined && iam !== null, 'iam is not available in this installation'],
];

function assertServed(body: NewSandbox): void {
  for (const [isRefused, problem] of CONTRADICTIONS) if (isRefused(body)) throw badRequest(problem);
  for (const [isRefused, problem] of NOT_SERVED) if (isRefused(body)) throw notPossible(problem);
}

function assertMetadataSize(metadata: Readonly<Record<string, string>>): void {
  if (Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES) {
    throw badRequest(`metadata: expected at most ${MAX_METADATA_BYTES} bytes as JSON`);
  }
}

function assertEnvs(envs: readonly (readonly [string, string])[]): void {
  if (envs.length > MAX_ENVS) throw badRequest(`envVars: expected at most ${MAX_ENVS} variables, got ${envs.length}`);
  for (const [name, value] of envs) {
    if (name === '' || /[=\0]/.test(name)) throw badRequest(`envVars: ${JSON.stringify(name)} cannot name a variable`);
    if (value.includes('\0')) throw badRequest(`envVars: the value of ${JSON.stringify(name)} has a zero byte`);
  }
}

function readLabels(metadata: Readonly<Record<string, string>>): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(metadata)) {
    if (!key.startsWith(LABEL_PREFIX)) continue;
    const name = key.slice(LABEL_PREFIX.length);
    if (!LABEL_KEY.test(name) || isSystemKey(name)) throw badRequest(`metadata: "${name}" cannot be a label`);
    if (!LABEL_VALUE.test(value)) throw badRequest(`metadata: the value of "${key}" cannot be the value of a label`);
    labels[name] = value;
  }
  return labels;
}

/** Labels that Sandlot or Kubernetes acts on. */
function isSystemKey(name: string): boolean {
  return isReservedKey(name) || /^([^/]*\.)?(kubernetes|k8s)\.io\//.test(name);
}
