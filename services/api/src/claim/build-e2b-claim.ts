import {
  annotations,
  formatFirstEgressText,
  formatMountedVolumes,
  labels,
  nameHash,
  VOLUMES_NAME,
} from '@sandlot/api-types';
import type { EgressWish, HeaderRule, MountedVolume, SandboxClaim, SandboxClaimSpec } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import type { ControlKeys } from '../e2b/request/control-keys.ts';
import type { FailedRetention } from '../e2b/request/failed-retention.ts';
import type { CreateRequest } from '../e2b/request/read-create.ts';
import { SUFFIX_LENGTH } from '../e2b/request/sandbox-name.ts';
import type { SandboxNameWish } from '../e2b/request/sandbox-name.ts';
import type { SharedVolume } from '../e2b/request/shared-volumes.ts';
import type { Source } from '../e2b/templates/source.ts';
import { buildKeyAnnotations, CONTROL_VIEW } from './annotations.ts';
import { buildEnvs } from './env-secret.ts';
import { endFields } from './lifetime.ts';
import { getFirstEndMs } from './start-end.ts';

export interface ClaimInput {
  readonly request: CreateRequest;
  readonly key: ApiKey;
  /** Sandboxes that the key may have at a time; 0: any number. */
  readonly sandboxLimit: number;
  /** The sandbox id, which is also the claim's name. */
  readonly id: string;
  readonly source: Pick<Source, 'kind' | 'name' | 'built'>;
  /** Name of the snapshot from which the sandbox starts; undefined: it has none, or the sandbox starts from no snapshot. */
  readonly snapshotName: string | undefined;
  /** The rules of the request, with keys in place of values. */
  readonly rules: readonly HeaderRule[];
  /** The volumes of the E2B API that it names. */
  readonly volumes: readonly MountedVolume[];
  readonly nowMs: number;
  /** What it records of its tokens ({@link buildTokenAnnotations}). */
  readonly tokens: Readonly<Record<string, string>>;
  /** Digest of the request's body, if the request has an Idempotency-Key. */
  readonly digest: string | undefined;
  /** Text of the annotation that carries the trace context. */
  readonly trace: string | undefined;
}

/** Builds the claim of an E2B create (docs/reference/e2b-api.md#mapping-to-kubernetes). The claim contains no secret. */
export function buildE2bClaim(input: ClaimInput): SandboxClaim {
  const { request, key, id, source } = input;
  const end = buildEnding(input);
  return {
    metadata: {
      namespace: key.namespace,
      name: id,
      labels: {
        ...request.labels,
        [labels.sandboxId]: id,
        ...(source.built === undefined ? {} : { [labels.templateId]: source.built.templateID }),
      },
      annotations: { ...getAnnotations(input), ...end.annotations },
    },
    spec: {
      ...(source.kind === 'pool'
        ? { warmPoolRef: { name: source.name } }
        : { sandboxTemplateRef: { name: source.name } }),
      ...(end.lifecycle === undefined ? {} : { lifecycle: end.lifecycle }),
      ...buildEnvs(request.envs),
      ...buildControlFields(request.control),
      ...buildVolumes([...(request.control.sharedVolumes ?? []), ...input.volumes.map(buildVolumeMount)]),
      ...buildSandboxName(request.control.sandboxName, id),
    },
  };
}

function buildEnding({ request, nowMs }: ClaimInput): Partial<ReturnType<typeof endFields>> {
  const { timeoutSeconds, autoPause, control } = request;
  if (control.neverTimeout === true) return {};
  return endFields(autoPause ? 'pause' : 'kill', { endMs: getFirstEndMs(timeoutSeconds, nowMs), timeoutSeconds });
}

function getAnnotations({
  request,
  key,
  sandboxLimit,
  source,
  snapshotName,
  rules,
  volumes,
  digest,
  tokens,
  trace,
  nowMs,
}: ClaimInput): Record<string, string> {
  const { metadata, autoPause, autoPauseMemory, autoResume, egress, control, hasControlKeys } = request;
  const fields: Record<string, string | undefined> = {
    ...buildKeyAnnotations(key.id, sandboxLimit),
    [annotations.createdAt]: new Date(nowMs).toISOString(),
    [annotations.snapshotName]: snapshotName,
    [annotations.templateName]: source.built?.name,
    [annotations.onTimeout]: autoPause ? 'pause' : 'kill',
    [annotations.autoPauseMemory]: autoPauseMemory ? undefined : 'false',
    [annotations.metadata]: Object.keys(metadata).length === 0 ? undefined : JSON.stringify(metadata),
    [annotations.autoResume]: autoResume ? 'true' : undefined,
    [annotations.volumeMounts]: formatMountedVolumes(volumes),
    ...tokens,
    [annotations.requestDigest]: digest,
    [annotations.traceContext]: trace,
    [annotations.pausedRetention]: control.pausedRetention,
    ...buildEgressAnnotations(addRules(egress, rules)),
    [CONTROL_VIEW]: hasControlKeys
      ? ['resource', ...(control.returnSandboxIp === true ? ['ip'] : [])].join(',')
      : undefined,
  };
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
  );
}

/** The wish with these rules, which deny nothing; undefined if there is neither. */
export function addRules(wish: EgressWish | undefined, rules: readonly HeaderRule[]): EgressWish | undefined {
  return rules.length === 0 ? wish : { ...(wish ?? { allowOut: [], denyOut: [] }), rules };
}

/** A new claim becomes Ready only when its rules hold, so `networkApplied` may say from the start that they do. */
function buildEgressAnnotations(wish: EgressWish | undefined): Record<string, string> {
  if (wish === undefined) return {};
  const text = formatFirstEgressText(wish);
  return { [annotations.network]: text, [annotations.networkApplied]: text };
}

function buildControlFields(keys: ControlKeys): Partial<SandboxClaimSpec> {
  return {
    ...(keys.createTimeoutMs === undefined ? {} : { claimTimeout: `${keys.createTimeoutMs / 1_000}s` }),
    ...(keys.waitReadySeconds === undefined ? {} : { waitReadyTimeout: `${keys.waitReadySeconds}s` }),
    ...(keys.createOnNoStock === false ? { createOnNoStock: false } : {}),
    ...(keys.skipInitRuntime === true ? { skipInitRuntime: true } : {}),
    ...buildInplaceUpdate(keys),
    ...buildReservation(keys.keepFailed ?? false),
  };
}

function buildInplaceUpdate({ image, cpu }: ControlKeys): Partial<SandboxClaimSpec> {
  if (image === undefined && cpu === undefined) return {};
  const { request, limit } = cpu ?? {};
  const resources = {
    ...(request === undefined ? {} : { requests: { cpu: request } }),
    ...(limit === undefined ? {} : { limits: { cpu: limit } }),
  };
  return {
    inplaceUpdate: { ...(image === undefined ? {} : { image }), ...(cpu === undefined ? {} : { resources }) },
  };
}

/** By PersistentVolumeClaim: a Pod finds these in its own namespace alone, and PersistentVolumes belong to no namespace. */
function buildVolumes(volumes: readonly SharedVolume[]): Partial<SandboxClaimSpec> {
  if (volumes.length === 0) return {};
  return { dynamicVolumes: volumes.map(({ name, ...mount }) => ({ persistentVolumeClaimName: name, ...mount })) };
}

function buildVolumeMount({ id, path }: MountedVolume): SharedVolume {
  return { name: VOLUMES_NAME, subPath: id, mountPath: path };
}

/** The end of a generated name is the same for a repeated create, and does not give the id away. */
function buildSandboxName(wish: SandboxNameWish | undefined, id: string): Partial<SandboxClaimSpec> {
  if (wish === undefined) return {};
  return { sandboxName: wish.isPrefix ? `${wish.text}${nameHash(id).slice(0, SUFFIX_LENGTH)}` : wish.text };
}

function buildReservation(keepFailed: FailedRetention): Partial<SandboxClaimSpec> {
  if (keepFailed === false) return {};
  const time = keepFailed === true ? {} : { reserveFailedSandboxFor: `${keepFailed}s` };
  return { reserveFailedSandbox: true, ...time };
}
