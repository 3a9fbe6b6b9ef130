import { annotations, getModeSpelling, getSuspender, resumePatch, suspendPatch } from '@sandlot/api-types';
import type { Sandbox, Suspender } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';

/** Resumes the Sandbox, and records in the same write who had suspended it. An edit that comes first wins. */
export function buildWakePatch(sandbox: Sandbox): JsonObject {
  return annotate(resumePatch(sandbox, { spelling: getModeSpelling(sandbox.spec) }), getSuspender(sandbox));
}

/** Suspends the Sandbox as the one who had suspended it, and removes the record in the same write. An edit that comes first wins. */
export function buildSleepPatch(sandbox: Sandbox): JsonObject {
  const by = getSuspender({ metadata: { annotations: { [annotations.suspendedBy]: readRecord(sandbox) } } });
  return annotate(suspendPatch(sandbox, { by, spelling: getModeSpelling(sandbox.spec) }), null);
}

/** Removes the record of a Sandbox that someone else has suspended. */
export function buildForgetPatch({ metadata: { uid, resourceVersion } }: Sandbox): JsonObject {
  return { metadata: { uid, resourceVersion, annotations: { [annotations.refresh]: null } } };
}

const readRecord = ({ metadata }: Sandbox): string => metadata.annotations?.[annotations.refresh] ?? '';

function annotate(patch: JsonObject, record: Suspender | null): JsonObject {
  const { annotations: others, ...metadata } = patch['metadata'] as JsonObject;
  const all = { ...(others as JsonObject), [annotations.refresh]: record };
  return { ...patch, metadata: { ...metadata, annotations: all } };
}
