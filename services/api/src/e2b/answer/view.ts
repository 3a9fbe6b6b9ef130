import { annotations, effectiveMode, findCondition, quantityValue, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { Held } from '../../state/cluster-state.ts';
import { egressView } from './egress-view.ts';
import { KRUISE_PREFIX } from '../request/control-keys.ts';
import { onTimeoutOf, shownEndMs, startedAtMs } from '../../claim/lifetime.ts';
import type { ListedSandbox, SandboxDetail, SandboxState } from '../request/schemas.ts';

const MEBIBYTE = 1_048_576;
const CLIENT = 'sandlot';

export interface ViewOptions {
  /** Told when a Sandbox does not say which protocol its daemon speaks. */
  readonly envdVersion: string;
  readonly domain: string | undefined;
}

export function templateOf({ spec }: SandboxClaim): string {
  return spec.warmPoolRef?.name ?? spec.sandboxTemplateRef?.name ?? '';
}

/** `paused` also while it is on its way there. */
export function stateOf(sandbox: Sandbox | undefined): SandboxState {
  return sandbox !== undefined && effectiveMode(sandbox.spec) === 'Suspended' ? 'paused' : 'running';
}

/** Whether no process of it runs any more. */
export function isSuspended(sandbox: Sandbox | undefined): boolean {
  return findCondition(sandbox?.status?.conditions, sandboxConditions.suspended)?.status === 'True';
}

export function isReady({ status }: SandboxClaim): boolean {
  return findCondition(status?.conditions, 'Ready')?.status === 'True';
}

export function envdVersionOf(sandbox: Sandbox | undefined, { envdVersion }: ViewOptions): string {
  return sandbox?.status?.runtime?.version ?? envdVersion;
}

/** What the user said about a sandbox; nothing when the annotation is not ours. */
function metadataOf({ metadata }: SandboxClaim): Readonly<Record<string, string>> {
  try {
    const parsed: unknown = JSON.parse(metadata.annotations?.[annotations.metadata] ?? '{}');
    if (typeof parsed !== 'object' || parsed === null) return {};
    const entries = Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}

export interface Size {
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskSizeMB: number;
}

interface Sized {
  readonly podTemplate: Sandbox['spec']['podTemplate'];
  readonly volumeClaimTemplates?: Sandbox['spec']['volumeClaimTemplates'];
}

/** Of the first container, in whole units; 0 for what nobody states. */
export function sizeOf(spec: Sized | undefined): Size {
  const resources = spec?.podTemplate.spec.containers[0]?.resources;
  const stated = (name: string): number =>
    quantityValue(resources?.limits?.[name] ?? resources?.requests?.[name] ?? 0) ?? 0;
  const disks = (spec?.volumeClaimTemplates ?? []).map(
    (disk) => quantityValue(disk.spec.resources?.requests?.['storage'] ?? 0) ?? 0,
  );
  const ephemeral = quantityValue(resources?.limits?.['ephemeral-storage'] ?? 0) ?? 0;
  return {
    cpuCount: Math.max(1, Math.ceil(stated('cpu'))),
    memoryMB: Math.ceil(stated('memory') / MEBIBYTE),
    diskSizeMB: Math.ceil(disks.reduce((sum, disk) => sum + disk, ephemeral) / MEBIBYTE),
  };
}

/** A sandbox in a list: no tokens. Its claim has been Ready. */
export function listedOf({ claim, sandbox }: Held, options: ViewOptions): ListedSandbox {
  return {
    templateID: templateOf(claim),
    alias: templateOf(claim),
    sandboxID: claim.metadata.name ?? '',
    clientID: CLIENT,
    startedAt: iso(startedAtMs(claim) ?? 0),
    endAt: iso(shownEndMs(claim)),
    ...sizeOf(sandbox?.spec),
    state: stateOf(sandbox),
    envdVersion: envdVersionOf(sandbox, options),
    metadata: { ...metadataOf(claim), ...kruiseMetadata({ claim, sandbox }) },
  };
}

/** On a claim that was made with OpenKruise's keys: what its metadata is told besides. */
export const KRUISE_VIEW = 'sandlot.dev/kruise-view';

/** What clients of OpenKruise find among the metadata (E2B contract, OpenKruise extension keys). */
function kruiseMetadata({ claim, sandbox }: Held): Record<string, string> {
  const text = claim.metadata.annotations?.[KRUISE_VIEW];
  if (text === undefined || sandbox === undefined) return {};
  const { namespace = '', name = '' } = sandbox.metadata;
  const resource = { [`${KRUISE_PREFIX}sandbox-resource`]: `${namespace}/${name}` };
  const [ip] = sandbox.status?.podIPs ?? [];
  const isWanted = text.split(',').includes('ip') && ip !== undefined;
  return isWanted ? { ...resource, [`${KRUISE_PREFIX}sandbox-ip`]: ip } : resource;
}

export interface Tokens {
  readonly envd: string;
  /** Undefined: its ports are public. */
  readonly traffic: string | undefined;
}

export function detailOf(held: Held, tokens: Tokens, options: ViewOptions): SandboxDetail {
  const { claim } = held;
  const listed = listedOf(held, options);
  return {
    ...listed,
    envdAccessToken: tokens.envd,
    domain: options.domain ?? null,
    ...egressView(claim, tokens.traffic === undefined),
    lifecycle: {
      autoResume: claim.metadata.annotations?.[annotations.autoResume] === 'true',
      onTimeout: onTimeoutOf(claim),
    },
    ...(listed.state === 'paused' ? { pauseMode: 'filesystem' as const } : {}),
  };
}

/** Whether its time is over, though nobody has ended it yet. */
export function isOver({ spec }: SandboxClaim, nowMs: number): boolean {
  return Date.parse(spec.lifecycle?.shutdownTime ?? '') <= nowMs;
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
