import { annotations } from '@sandlot/api-types';
import type { Scene } from '../plan/scene.ts';
import type { Step } from '../plan/steps.ts';
import { findMostBytes } from '../quota/decide-quota.ts';
import type { Source } from '../status/build-status.ts';

/** The request for a save or a copy, which is the same however often it is repeated, but for what a quota has left. */
export function buildSaveStep(scene: Scene, { nodeName, ...source }: Source): Step {
  const { metadata, spec } = scene.object;
  if (spec.copyOf !== undefined) {
    return { kind: 'copy', nodeName, from: metadata.annotations?.[annotations.copiedFrom] ?? '' };
  }
  const mode = spec.whenSaved === 'StayPaused' ? 'Hibernate' : 'Snapshot';
  const request = {
    source: { sandboxName: spec.sandboxName, ...source },
    mode,
    mostBytes: findMostBytes(scene),
  } as const;
  return { kind: 'save', nodeName, request };
}
