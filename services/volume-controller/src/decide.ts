import { parts } from './plan/scene.ts';
import type { Part, Scene } from './plan/scene.ts';
import type { Plan, Step } from './plan/steps.ts';

/** While something is on its way out. */
const SOON_MS = 1_000;
/** What others change or delete is mended after as long. */
const MEND_MS = 5 * 60_000;

/** What to do next about the volumes of one namespace. */
export function decide(scene: Scene): Plan {
  const forget = scene.halfGone.map((registered): Step => ({ kind: 'forget', registered }));
  const plan = scene.live.length > 0 ? decideServing(scene) : decideEnd(scene);
  return { ...plan, steps: [...forget, ...plan.steps] };
}

function decideServing({ present, tombstones }: Scene): Plan {
  const taken = parts.filter((part) => present[part]?.isOurs === false);
  if (taken.length > 0) return { steps: taken.map((part) => ({ kind: 'report-taken', part })), afterMs: MEND_MS };
  const ending = parts.some((part) => present[part]?.isEnding === true);
  const writes = parts
    .filter((part) => present[part]?.isCurrent !== true && present[part]?.isEnding !== true)
    // A file server that mounts a disk which goes away would keep it from going.
    .filter((part) => part !== 'server' || present.disk?.isEnding !== true)
    .map((part): Step => ({ kind: 'write', part, isNew: present[part] === undefined }));
  if (ending || writes.length > 0) return { steps: writes, afterMs: SOON_MS };
  return {
    steps: tombstones.map((registered) => ({ kind: 'remove-data', registered })),
    afterMs: MEND_MS,
  };
}

/**
 * Without volumes nothing of the namespace stays. The file server ends first, and with it the only way to write into a volume over the API:
 * a volume that is created meanwhile is seen before the disk goes.
 */
function decideEnd({ present, tombstones }: Scene): Plan {
  if (isOurs(present.server)) return endPart('server', present.server.isEnding);
  if (isOurs(present.disk)) return endPart('disk', present.disk.isEnding);
  const rest = (['service', 'policy'] as const).filter((part) => isOurs(present[part]) && !present[part].isEnding);
  return {
    steps: [
      ...rest.map((part): Step => ({ kind: 'delete', part })),
      ...tombstones.map((registered): Step => ({ kind: 'forget', registered })),
    ],
  };
}

function endPart(part: Part, isEnding: boolean): Plan {
  return { steps: isEnding ? [] : [{ kind: 'delete', part }], afterMs: SOON_MS };
}

function isOurs<T extends { readonly isOurs: boolean }>(present: T | undefined): present is T {
  return present?.isOurs === true;
}
