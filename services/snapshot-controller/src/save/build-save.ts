import { annotations } from '@sandlot/api-types';
import { HOLD_SECONDS } from '../disks/decide-disks.ts';
import { hasOwnDisks } from '../disks/plan-disks.ts';
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
  const request = {
    source: { sandboxName: spec.sandboxName, ...source },
    mode: spec.whenSaved === 'StayPaused' ? 'Hibernate' : 'Snapshot',
    ...(spec.contents === 'Files' ? { contents: 'Files' as const } : {}),
    ...(keepsFiles(scene) ? { files: true } : {}),
    mostBytes: findMostBytes(scene),
    ...(hasOwnDisks(scene.object) ? { holdSeconds: HOLD_SECONDS } : {}),
  } as const;
  return { kind: 'save', nodeName, request };
}

/** Only a hibernation boots with its files when its memory is lost. */
function keepsFiles({ object: { spec }, snapshotClass }: Scene): boolean {
  return spec.whenSaved === 'StayPaused' && spec.contents !== 'Files' && snapshotClass?.spec.keepFiles !== false;
}
