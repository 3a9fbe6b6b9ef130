import { annotations, isReservedKey, labels } from '@sandlot/api-types';
import type { EgressWish, SandboxClaim, SandboxClaimSpec } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { badRequest } from '../errors/api-error.ts';
import { splitMetadata } from '../e2b/request/control-keys.ts';
import type { KruiseKeys } from '../e2b/request/control-keys.ts';
import { endFields } from './lifetime.ts';
import { egressNotes, readEgress } from '../e2b/request/egress.ts';
import type { NewSandbox } from '../e2b/request/schemas.ts';
import type { Origin } from '../e2b/request/template-name.ts';
import { KRUISE_VIEW } from '../e2b/answer/view.ts';

/** A create that can be carried out as it is asked for. */
export interface CreateRequest {
  readonly templateID: string;
  readonly timeoutSeconds: number;
  readonly autoPause: boolean;
  readonly autoResume: boolean;
  readonly allowPublicTraffic: boolean;
  /** Rules of its own; undefined: its template's. */
  readonly egress: EgressWish | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** From metadata keys `label:<k>`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly envs: readonly (readonly [name: string, value: string])[];
  readonly kruise: KruiseKeys;
  /** Whether any of OpenKruise's keys was there. */
  readonly isKruise: boolean;
}

/** Annotations of an object may take 256 KiB together. */
const MAX_METADATA_BYTES = 65_536;
const MAX_ENVS = 200;
const LABEL_PREFIX = 'label:';
const LABEL_KEY = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;

export interface CreateLimits {
  readonly maxTimeoutSeconds: number;
  readonly neverTimeout: boolean;
}

/** Reads a create. Throws an ApiError 400 that names the field which cannot be served. */
export function readCreate(body: NewSandbox, limits: CreateLimits): CreateRequest {
  const { metadata, keys } = splitMetadata(body.metadata ?? {});
  assertTimeout(body.timeout, limits.maxTimeoutSeconds);
  assertServed(body);
  const egress = readEgress(body.network, body.allow_internet_access);
  assertSize(metadata);
  const envs = Object.entries(body.envVars ?? {});
  assertEnvs(envs);
  if (keys.skipInitRuntime === true && envs.length > 0)
    throw badRequest('envVars need the runtime that skip-init-runtime leaves out');
  return {
    templateID: body.templateID,
    timeoutSeconds: body.timeout,
    autoPause: body.autoPause === true,
    autoResume: body.autoResume?.enabled === true,
    allowPublicTraffic: body.network?.allowPublicTraffic !== false,
    egress,
    metadata,
    labels: labelsIn(metadata),
    envs,
    kruise: keys,
    isKruise: Object.keys(keys).length > 0,
  };
}

/** Of every route that takes a timeout. */
export function assertTimeout(seconds: number, maxSeconds: number): void {
  if (seconds <= 0) throw badRequest(`timeout: expected more than 0 seconds, got ${seconds}`);
  if (maxSeconds > 0 && seconds > maxSeconds) {
    throw badRequest(`timeout: expected at most ${maxSeconds} seconds, got ${seconds}`);
  }
}

type Check = readonly [isAsked: (body: NewSandbox) => boolean, problem: string];

/** Combinations and fields that are refused (E2B contract, create). */
const REFUSED: readonly Check[] = [
  [
    ({ autoPause, autoPauseMemory }) => autoPauseMemory === false && autoPause !== true,
    'autoPauseMemory: false needs autoPause',
  ],
  [
    ({ autoPauseMemory, autoResume }) => autoPauseMemory === false && autoResume?.enabled === true,
    'autoPauseMemory: false excludes autoResume',
  ],
  [({ autoPause, autoResume }) => autoResume?.enabled === true && autoPause !== true, 'autoResume needs autoPause'],
  [({ iam }) => iam !== undefined && iam !== null, 'iam is not available in this installation'],
  [({ volumeMounts }) => (volumeMounts ?? []).length > 0, 'volumeMounts are not available in this installation'],
];

function assertServed(body: NewSandbox): void {
  for (const [isAsked, problem] of REFUSED) if (isAsked(body)) throw badRequest(problem);
}

function assertSize(metadata: Readonly<Record<string, string>>): void {
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

function labelsIn(metadata: Readonly<Record<string, string>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, value] of Object.entries(metadata)) {
    if (!key.startsWith(LABEL_PREFIX)) continue;
    const name = key.slice(LABEL_PREFIX.length);
    if (!LABEL_KEY.test(name) || isSystemKey(name)) throw badRequest(`metadata: "${name}" cannot be a label`);
    if (!LABEL_VALUE.test(value)) throw badRequest(`metadata: the value of "${key}" cannot be the value of a label`);
    found[name] = value;
  }
  return found;
}

/** Labels by which this system, or Kubernetes, works. */
function isSystemKey(name: string): boolean {
  return isReservedKey(name) || /^([^/]*\.)?(kubernetes|k8s)\.io\//.test(name);
}

export interface ClaimInput {
  readonly request: CreateRequest;
  readonly key: ApiKey;
  readonly id: string;
  readonly origin: Origin;
  readonly nowMs: number;
  /** Hex SHA-256 of the token that opens its ports; absent: they are public. */
  readonly trafficTokenHash: string | undefined;
  /** What the request was, if it may be repeated. */
  readonly digest: string | undefined;
  /** The text of the annotation that carries the trace. */
  readonly trace: string | undefined;
}

/** The claim of a sandbox that the API makes (E2B contract, mapping to Kubernetes). No secret is in it. */
export function claimOf(input: ClaimInput): SandboxClaim {
  const { request, key, id, origin } = input;
  const { notes, lifecycle } = endOf(input);
  return {
    metadata: {
      namespace: key.namespace,
      name: id,
      labels: { ...request.labels, [labels.sandboxId]: id },
      annotations: { ...notesOf(input), ...notes },
    },
    spec: {
      ...(origin.kind === 'pool'
        ? { warmPoolRef: { name: origin.name } }
        : { sandboxTemplateRef: { name: origin.name } }),
      ...(lifecycle === undefined ? {} : { lifecycle }),
      ...envsOf(request, id),
      ...kruiseFields(request.kruise),
    },
  };
}

function endOf({ request, nowMs }: ClaimInput): Partial<ReturnType<typeof endFields>> {
  const { timeoutSeconds, autoPause, kruise } = request;
  if (kruise.neverTimeout === true) return {};
  return endFields(autoPause ? 'pause' : 'kill', { endMs: nowMs + timeoutSeconds * 1_000, timeoutSeconds });
}

function notesOf({ request, key, digest, trafficTokenHash, trace, nowMs }: ClaimInput): Record<string, string> {
  const { metadata, autoPause, autoResume, egress, kruise, isKruise } = request;
  const notes: Record<string, string | undefined> = {
    [annotations.apiKeyId]: key.id,
    [annotations.createdAt]: new Date(nowMs).toISOString(),
    [annotations.onTimeout]: autoPause ? 'pause' : 'kill',
    [annotations.metadata]: Object.keys(metadata).length === 0 ? undefined : JSON.stringify(metadata),
    [annotations.autoResume]: autoResume ? 'true' : undefined,
    [annotations.trafficTokenHash]: trafficTokenHash,
    [annotations.requestDigest]: digest,
    [annotations.traceContext]: trace,
    [annotations.pausedRetention]: kruise.pausedRetention,
    ...egressNotes(egress),
    [KRUISE_VIEW]: isKruise ? ['resource', ...(kruise.returnSandboxIp === true ? ['ip'] : [])].join(',') : undefined,
  };
  return Object.fromEntries(Object.entries(notes).filter((note): note is [string, string] => note[1] !== undefined));
}

/** Name of the Secret with the values of a sandbox's variables. */
export function envSecretName(id: string): string {
  return `${id}-env`;
}

/** Key of a variable's value in that Secret: its name may have letters that keys may not. */
export function envSecretKey(index: number): string {
  return `env-${index}`;
}

function envsOf({ envs }: CreateRequest, id: string): Pick<SandboxClaimSpec, 'envs'> {
  if (envs.length === 0) return {};
  const from = (index: number) => ({ secretKeyRef: { name: envSecretName(id), key: envSecretKey(index) } });
  return { envs: envs.map(([name], index) => ({ name, valueFrom: from(index) })) };
}

function kruiseFields(keys: KruiseKeys): Partial<SandboxClaimSpec> {
  return {
    ...(keys.createTimeoutMs === undefined ? {} : { claimTimeout: `${keys.createTimeoutMs / 1_000}s` }),
    ...(keys.waitReadySeconds === undefined ? {} : { waitReadyTimeout: `${keys.waitReadySeconds}s` }),
    ...(keys.createOnNoStock === false ? { createOnNoStock: false } : {}),
    ...(keys.skipInitRuntime === true ? { skipInitRuntime: true } : {}),
    ...(keys.image === undefined ? {} : { inplaceUpdate: { image: keys.image } }),
    ...(keys.reserveFailedSandbox === true ? { reserveFailedSandbox: true } : {}),
  };
}
