// How a Sandbox is suspended and resumed through its spec, and how it says who suspended it.
import type { JsonObject } from '@sandlot/kube/objects';
import { annotations } from '../catalogue/keys.ts';
import type { Sandbox, SandboxSpec } from '../objects.ts';

/** The spec field that carries the desired mode: `replicas` (v1alpha1) or `operatingMode` (v1beta1). */
export type ModeSpelling = 'replicas' | 'operatingMode';

/**
 * The spelling a Sandbox uses, in which Sandlot must write back. `unset` is the answer for a spec with neither field; a
 * caller that knows the author's API version passes it (docs/reference/versions.md#groups-and-versions).
 */
export function getModeSpelling(
  spec: Pick<SandboxSpec, 'replicas' | 'operatingMode'>,
  unset: ModeSpelling = 'operatingMode',
): ModeSpelling {
  if (spec.replicas !== undefined) return 'replicas';
  return spec.operatingMode === undefined ? unset : 'operatingMode';
}

const SUSPENDERS = ['User', 'Idle', 'Startup', 'API'] as const;
export type Suspender = (typeof SUSPENDERS)[number];

/**
 * Merge patch that suspends a Sandbox as its owner would, with the record of who asked; a user leaves none. It carries `uid` and
 * `resourceVersion`, so that an edit that comes first wins (docs/reference/sandbox.md#idle-suspend-and-resume).
 */
export function suspendPatch(
  { metadata }: Pick<Sandbox, 'metadata'>,
  { by, spelling }: { readonly by: Suspender; readonly spelling: ModeSpelling },
): JsonObject {
  const { uid, resourceVersion } = metadata;
  return {
    metadata: { uid, resourceVersion, annotations: { [annotations.suspendedBy]: by === 'User' ? null : by } },
    spec: spelling === 'replicas' ? { replicas: 0 } : { operatingMode: 'Suspended' },
  };
}

/**
 * Merge patch that resumes a Sandbox and removes the record of its suspension, guarded like {@link suspendPatch}.
 * `trace` is the trace context of the request that wakes it.
 */
export function resumePatch(
  { metadata }: Pick<Sandbox, 'metadata'>,
  { spelling, trace }: { readonly spelling: ModeSpelling; readonly trace?: string | undefined },
): JsonObject {
  const { uid, resourceVersion } = metadata;
  const carried = trace === undefined ? {} : { [annotations.traceContext]: trace };
  return {
    metadata: { uid, resourceVersion, annotations: { [annotations.suspendedBy]: null, ...carried } },
    spec: spelling === 'replicas' ? { replicas: 1 } : { operatingMode: 'Running' },
  };
}

/** Who suspended the Sandbox. Sandlot records its own suspensions; without a record it was the user. */
export function getSuspender({ metadata }: Pick<Sandbox, 'metadata'>): Suspender {
  const recorded = metadata.annotations?.[annotations.suspendedBy];
  return SUSPENDERS.find((name) => name === recorded) ?? 'User';
}

/**
 * The annotation of a suspension whose daemon did not answer before. It names the generation that the suspension makes of
 * `sandbox`, so it counts until the next edit of the spec, as a resume is one.
 */
export function buildUnresponsiveNote({ metadata }: Pick<Sandbox, 'metadata'>): Record<string, string> {
  return { [annotations.unresponsiveDaemon]: String((metadata.generation ?? 0) + 1) };
}

/**
 * The annotation of a suspension that is to save the files of the containers, and no memory. It names the generation that the
 * suspension makes of `sandbox`, so a later one by anybody keeps what the strategy says.
 */
export function buildFilesNote({ metadata }: Pick<Sandbox, 'metadata'>): Record<string, string> {
  return { [annotations.pauseKeepsFiles]: String((metadata.generation ?? 0) + 1) };
}

/** Whether this suspension of a Sandbox that hibernates saves its files alone, by its strategy or by a request. */
export function keepsFilesAlone({ metadata, spec }: Pick<Sandbox, 'metadata' | 'spec'>): boolean {
  const isAsked = metadata.annotations?.[annotations.pauseKeepsFiles] === String(metadata.generation ?? 0);
  return isAsked || spec.suspensionStrategy?.hibernate?.contents === 'Files';
}

/** Whether the Sandbox was paused although its daemon did not answer: with its memory it would not answer again. */
export function hasUnresponsiveDaemon({ metadata }: Pick<Sandbox, 'metadata'>): boolean {
  return metadata.annotations?.[annotations.unresponsiveDaemon] === String(metadata.generation ?? 0);
}
