import { findTemplateOfPolicy } from '@sandlot/api-types';
import type { PodDefaults } from '@sandlot/blueprint';
import { createEventRecorder, done, findController, getKey, watchSource } from '@sandlot/kube';
import type { KubeObject, ReconcileResult } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { formatTemplateKey } from '../wiring/cache.ts';
import { applyGolden } from './apply-golden.ts';
import type { GoldenApplyDeps } from './apply-golden.ts';
import { Attempts } from './attempts.ts';
import { decideGolden } from './decide-golden.ts';
import { observeGolden } from './observe-golden.ts';
import type { GoldenCache, GoldenObserveDeps } from './observe-golden.ts';

export interface GoldenControllerOptions {
  /** The informers of the pool controller. */
  readonly cache: GoldenCache;
  readonly podDefaults: PodDefaults;
  readonly concurrency: number;
}

/** Adds the controller of golden snapshots to the manager. Its keys are those of templates. */
export function addGoldenController(
  parts: ControllerParts,
  { cache, podDefaults, concurrency }: GoldenControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, instance, clock, random, log, kubeMetrics: metrics } = parts;
  const shared = { client, clock, random, log, metrics };
  const recorder = createEventRecorder({ ...shared, controller: 'sandlot.dev/warmpool-controller', instance });
  const deps = { client, cache, podDefaults, recorder, attempts: new Attempts(() => clock.monotonic()) };
  manager.add({
    name: 'golden',
    concurrency,
    sources: [
      watchSource(cache.templates, (template) => [getKey(template)]),
      watchSource(cache.pools, (pool) => [formatTemplateKey(pool)]),
      watchSource(cache.sandboxes, listOwningTemplate),
      watchSource(cache.snapshots, listOwningTemplate),
      watchSource(cache.policies, (policy) => {
        const template = findTemplateOfPolicy(policy);
        return template === undefined ? [] : [`${policy.metadata.namespace ?? ''}/${template}`];
      }),
    ],
    reconcile: (key, { signal }) => reconcileGolden(deps, key, signal),
  });
  return { close: () => recorder.flush() };
}

/** One pass: observe, decide, apply. Garbage collection deletes what a template leaves. */
async function reconcileGolden(
  deps: GoldenObserveDeps & GoldenApplyDeps,
  key: string,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const template = deps.cache.templates.store.get(key);
  if (template === undefined) {
    deps.attempts.forget(key);
    return done;
  }
  return applyGolden(deps, { template, signal }, decideGolden(observeGolden(deps, template)));
}

function listOwningTemplate(object: KubeObject): readonly string[] {
  const owner = findController(object);
  return owner?.kind === 'SandboxTemplate' ? [`${object.metadata.namespace ?? ''}/${owner.name}`] : [];
}
