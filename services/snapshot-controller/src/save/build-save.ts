import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Step } from '../plan/steps.ts';
import type { Source } from '../status/build-status.ts';

/** The request for a save, which is the same however often it is repeated. */
export function buildSaveStep({ spec }: SandboxSnapshot, { nodeName, ...source }: Source): Step {
  const mode = spec.whenSaved === 'StayPaused' ? 'Hibernate' : 'Snapshot';
  return { kind: 'save', nodeName, request: { source: { sandboxName: spec.sandboxName, ...source }, mode } };
}
