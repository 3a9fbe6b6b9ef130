import { sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import type { CopyLook } from '../plan/scene.ts';

/** Reads what is copied, and the Sandbox that is to start from it. A cache that lags must not cost a Sandbox its start. */
export async function lookAtOriginal(
  client: KubeClient,
  { metadata: { namespace }, spec: { sandboxName, copyOf } }: SandboxSnapshot,
  signal: AbortSignal,
): Promise<CopyLook> {
  const [sandbox, original] = await Promise.all([
    client.find(sandboxes, { namespace, name: sandboxName }, { signal }),
    client.find(sandboxSnapshots, { namespace, name: copyOf?.snapshotName ?? '' }, { signal }),
  ]);
  return { sandbox: sandbox?.metadata.deletionTimestamp === undefined ? sandbox : undefined, original };
}
