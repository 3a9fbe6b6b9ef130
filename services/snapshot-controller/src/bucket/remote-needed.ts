import { isSpent } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';

/** Whether one of `others` is a copy that still may be restored, and whose data the bucket has as that of `object`. */
export function isRemoteNeeded({ metadata: { uid } }: SandboxSnapshot, others: Iterable<SandboxSnapshot>): boolean {
  return [...others].some((other) => other.status?.remoteOf === uid && isOpenCopy(other));
}

function isOpenCopy({ metadata, spec, status }: SandboxSnapshot): boolean {
  if (spec.copyOf === undefined || metadata.deletionTimestamp !== undefined) return false;
  const mayBegin = !isSpent({ status }) || status?.restore?.state === 'Announced';
  return mayBegin && (status?.phase === 'Saving' || status?.phase === 'Ready');
}
