import { annotations } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Step } from '../plan/steps.ts';
import type { Source } from '../status/build-status.ts';

/** The request for a save or a copy, which is the same however often it is repeated. */
export function buildSaveStep({ metadata, spec }: SandboxSnapshot, { nodeName, ...source }: Source): Step {
  if (spec.copyOf !== undefined) {
    return { kind: 'copy', nodeName, from: metadata.annotations?.[annotations.copiedFrom] ?? '' };
  }
  const mode = spec.whenSaved === 'StayPaused' ? 'Hibernate' : 'Snapshot';
  return { kind: 'save', nodeName, request: { source: { sandboxName: spec.sandboxName, ...source }, mode } };
}
