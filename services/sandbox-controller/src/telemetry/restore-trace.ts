import { annotations } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { carrier } from '@sandlot/telemetry';

/**
 * `pod` with the trace of the operation of this pass, if it is to be restored: its SandboxSnapshot carries that of the save, which
 * may have ended days ago.
 */
export function withRestoreTrace(pod: Pod): Pod {
  const { metadata } = pod;
  if (metadata.annotations?.[annotations.restoreSnapshot] === undefined) return pod;
  const trace = carrier.inject();
  if (trace === undefined) return pod;
  return {
    ...pod,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.restoreTrace]: trace } },
  };
}
