import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';

/** The phases of a Sandbox from this state until Suspended, without Pending. A watch misses none. */
export async function phasesSince(client: KubeClient, { metadata }: Sandbox): Promise<string[]> {
  const { namespace, name = '', resourceVersion } = metadata;
  const seen: string[] = [];
  const fieldSelector = `metadata.name=${name}`;
  for await (const event of client.watch(sandboxes, { namespace, fieldSelector, resourceVersion })) {
    const phase = event.type === 'BOOKMARK' ? undefined : event.object.status?.phase;
    if (phase !== undefined && phase !== 'Pending' && phase !== seen.at(-1)) seen.push(phase);
    if (phase === 'Suspended') break;
  }
  return seen;
}
