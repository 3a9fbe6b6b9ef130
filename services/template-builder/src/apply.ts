import { buildMergePatch, sandboxTemplateBuilds } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { getKey, isConflict, isNotFound, parseKey } from '@sandlot/kube';
import type { KubeClient, OwnWrites } from '@sandlot/kube';
import type { Step } from './plan/steps.ts';
import { removeSandboxes } from './sandbox/open-sandbox.ts';
import type { BuildMetrics } from './telemetry/metrics.ts';

export interface ApplyDeps {
  readonly client: KubeClient;
  readonly builds: OwnWrites<SandboxTemplateBuild>;
  readonly metrics: BuildMetrics;
  readonly queue: {
    add(id: string, options: { readonly priority: number }): Promise<void>;
    remove(id: string): Promise<void>;
  };
}

/** Takes one step and returns the object as it is afterwards. Every write is guarded by the resourceVersion. */
export async function apply(
  { client, builds, queue, metrics }: ApplyDeps,
  object: SandboxTemplateBuild,
  { step, signal }: { readonly step: Step; readonly signal: AbortSignal },
): Promise<SandboxTemplateBuild> {
  const key = getKey(object);
  const { uid, resourceVersion } = object.metadata;
  switch (step.kind) {
    case 'status': {
      const status = buildMergePatch(object.status, step.status);
      if (status === undefined) return object;
      const patch = { metadata: { uid, resourceVersion }, status };
      const after = await builds.write(key, () =>
        client.mergePatch(sandboxTemplateBuilds, parseKey(key), patch, { signal, subresource: 'status' }),
      );
      metrics.onStatusWritten(object, after);
      return after;
    }
    case 'enqueue':
      await queue.add(formatJobId(key), { priority: step.priority });
      return object;
    case 'cancel':
      await queue.remove(formatJobId(key));
      await removeSandboxes(client, object, (object.status?.attempt ?? 0) + 1);
      return object;
    case 'delete':
      await client.delete(sandboxTemplateBuilds, parseKey(key), { uid, signal }).catch((error: unknown) => {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
      return object;
  }
}

/** The key of a build as the id of its job: names have no `|`, and ids no `:`. */
function formatJobId(key: string): string {
  return key.replace('/', '|');
}

export function parseJobId(id: string): string {
  return id.replace('|', '/');
}
