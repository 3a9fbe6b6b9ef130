import { annotations, eventReasons } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { formatWarning } from '../plan/steps.ts';
import type { EventNote } from '../plan/steps.ts';

export function buildMovedNote({ spec }: Pod, save: SandboxSnapshot | undefined): EventNote {
  const node = `Node "${spec.nodeName ?? ''}" is being emptied`;
  const kept = `The Sandbox goes on in another Pod with the memory that SandboxSnapshot "${save?.metadata.name ?? ''}" keeps`;
  const where =
    save?.status?.remote?.state === 'Uploaded'
      ? 'on any node that can restore it'
      : 'on the same node, once that takes Pods again';
  return { type: 'Normal', reason: eventReasons.movedFromNode, message: `${node}. ${kept}, ${where}` };
}

/** The Pod still runs, until somebody evicts it. */
export function buildUnsavedNote({ spec }: Pod, why: string): EventNote {
  const node = `Memory was not saved while node "${spec.nodeName ?? ''}" is being emptied: ${why}`;
  const effect = 'Evictions of the Pod no longer wait. Once it is evicted, the Sandbox begins anew on the same volumes';
  return formatWarning(eventReasons.hibernationFailed, `${node}. ${effect}`);
}

/** The Pod was evicted after that. It remembers why its memory was not saved. */
export function buildEvictedNote({ metadata, spec }: Pod): EventNote {
  const why = metadata.annotations?.[annotations.saveProblem] ?? 'the Event HibernationFailed says why';
  const effect = `Its Pod left node "${spec.nodeName ?? ''}", which is being emptied. The Sandbox begins anew on the same volumes`;
  return formatWarning(eventReasons.hibernationFailed, `Memory was not saved and is lost: ${why}. ${effect}`);
}
