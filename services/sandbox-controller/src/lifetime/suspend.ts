import { annotations } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { authorshipEntries } from '../service/authorship.ts';
import type { Step } from '../plan/steps.ts';

/**
 * Asks for a suspension as its owner would: in the spec, in the spelling the object uses, so that every client sees an
 * ordinary suspension and resumes it in the ordinary way. The record of who asked goes with it in one patch, guarded by
 * resourceVersion: an edit that comes first wins (API contract, idle).
 */
export function suspendStep(sandbox: Sandbox, by: 'Idle' | 'Startup'): Step {
  const { uid, resourceVersion } = sandbox.metadata;
  const metadata = { uid, resourceVersion, annotations: { [annotations.suspendedBy]: by } };
  const spec = countsReplicas(sandbox) ? { replicas: 0 } : { operatingMode: 'Suspended' };
  return { kind: 'suspendSandbox', patch: { metadata, spec } };
}

/**
 * Asks for a resume as its owner would, and takes the record of the suspension along. Guarded alike: an edit that comes
 * first wins, and of two resumes one. `trace` is that of whoever asked, and goes along.
 */
export function resumeStep(sandbox: Sandbox, trace?: string): Step {
  const { uid, resourceVersion } = sandbox.metadata;
  const carried = trace === undefined ? {} : { [annotations.traceContext]: trace };
  const metadata = { uid, resourceVersion, annotations: { [annotations.suspendedBy]: null, ...carried } };
  const spec = countsReplicas(sandbox) ? { replicas: 1 } : { operatingMode: 'Running' };
  return { kind: 'resumeSandbox', patch: { metadata, spec } };
}

const SUSPENDERS = ['User', 'Idle', 'Startup', 'API'] as const;

/** Who suspended the Sandbox: an automatic suspend leaves a record of its intent; without one it was the user. */
export function recordedSuspender({ metadata }: Pick<Sandbox, 'metadata'>): (typeof SUSPENDERS)[number] {
  const recorded = metadata.annotations?.[annotations.suspendedBy];
  return SUSPENDERS.find((name) => name === recorded) ?? 'User';
}

/** With neither field set, what the author's version of the API knows decides. */
function countsReplicas({ spec, metadata }: Sandbox): boolean {
  if (spec.replicas !== undefined) return true;
  return spec.operatingMode === undefined && authorshipEntries(metadata.managedFields).length > 0;
}
