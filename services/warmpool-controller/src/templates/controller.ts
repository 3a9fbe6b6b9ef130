import { annotations, AUTHORED_POLICY_NAME, parseNetworkPolicyName } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { PodDefaults } from '@sandlot/blueprint';
import { createChannelSource, createEventRecorder, createOwnWrites, getKey, watchSource } from '@sandlot/kube';
import type { Informer, NetworkPolicy, Source } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import type { ControllerParts } from '@sandlot/service';
import { StatusPace } from '../status/status-pace.ts';
import { createPolicyMetrics } from '../telemetry/policy-metrics.ts';
import { formatTemplateKey } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';
import { AuthoredSandboxes } from './authored/authored-sandboxes.ts';
import { reconcileAuthored } from './authored/reconcile-authored.ts';
import { Refusals } from './network/refusals.ts';
import type { NetworkSettings } from './network/settings.ts';
import { reconcileTemplate } from './reconcile.ts';
import { RetainedMemory } from './retained/retained-memory.ts';

export interface TemplateControllerOptions {
  /** The informers of the pool controller. */
  readonly cache: Cache;
  readonly podDefaults: PodDefaults;
  readonly network: NetworkSettings;
  readonly concurrency: number;
}

/** How long a watch may lag behind our writes of templates. */
const OWN_WRITES_MS = 30_000;

/** Adds the controllers of templates, and of policies for authored Sandboxes, to the manager. */
export function addTemplateController(
  parts: ControllerParts,
  options: TemplateControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, instance, clock, random, log, kubeMetrics } = parts;
  const { cache, podDefaults, network, concurrency } = options;
  const { policies } = cache;
  const shared = { client, clock, random, log, metrics: kubeMetrics };
  const recorder = createEventRecorder({ ...shared, controller: 'sandlot.dev/warmpool-controller', instance });
  const common = { client, recorder, network, metrics: createPolicyMetrics(parts.registry), policies: policies.store };
  const templates = createOwnWrites({ informer: cache.templates, clock, keepMs: OWN_WRITES_MS });
  const monotonic = (): number => clock.monotonic();
  const deps = {
    ...common,
    podDefaults,
    templates,
    pools: cache.pools.store,
    sandboxes: cache.sandboxes.store,
    retained: new RetainedMemory(policies, monotonic),
    refusals: new Refusals(),
    statusPace: new StatusPace({ intervalMs: pacing.templateStatus.intervalMs, monotonic }),
    nowMs: () => clock.now(),
    monotonic,
  };
  manager.add({
    name: 'template',
    concurrency,
    sources: [
      watchSource(cache.templates, (template) => [getKey(template)], { priority: 1 }),
      watchSource(policies, listTemplatesOfPolicy, { priority: 1 }),
      watchSource(cache.pools, (pool) => [formatTemplateKey(pool)]),
      watchSource(cache.sandboxes, (sandbox, { next }) =>
        next === undefined ? listAbsentTemplates(cache, sandbox) : [],
      ),
    ],
    reconcile: (key, context) => reconcileTemplate(deps, key, context),
  });
  const { authored, source } = watchAuthoredSandboxes(cache.sandboxes, network);
  manager.add({
    name: 'authored-network',
    concurrency: 1,
    sources: [source, watchSource(policies, listNamespaceOfAuthoredPolicy)],
    reconcile: (namespaceKey, context) => reconcileAuthored({ ...common, authored }, namespaceKey, context),
  });
  return {
    close: () => {
      templates[Symbol.dispose]();
      return recorder.flush();
    },
  };
}

/** The template whose policy it is, or whose policy has that name. */
function listTemplatesOfPolicy({ metadata: { namespace = '', name = '' } }: NetworkPolicy): string[] {
  const template = parseNetworkPolicyName(name);
  return template === undefined ? [] : [`${namespace}/${template}`];
}

/** The template of a Sandbox, if it is gone: its policy may go with the last Sandbox. */
function listAbsentTemplates({ templates }: Cache, { metadata }: Sandbox): string[] {
  const name = metadata.annotations?.[annotations.templateRef];
  const key = `${metadata.namespace ?? ''}/${name ?? ''}`;
  return name === undefined || templates.store.get(key) !== undefined ? [] : [key];
}

function listNamespaceOfAuthoredPolicy({ metadata: { namespace = '', name } }: NetworkPolicy): string[] {
  return name === AUTHORED_POLICY_NAME ? [namespace] : [];
}

/** Without protection the controller tracks no Sandboxes, but still deletes policies that it created with protection. */
function watchAuthoredSandboxes(
  sandboxes: Informer<Sandbox>,
  { protectAuthoredSandboxes }: NetworkSettings,
): { readonly authored: AuthoredSandboxes | undefined; readonly source: Source } {
  if (!protectAuthoredSandboxes) return { authored: undefined, source: createChannelSource() };
  const authored: AuthoredSandboxes = new AuthoredSandboxes(sandboxes, (namespace) => source.push(namespace));
  const source = createChannelSource(() => authored.namespaces());
  // The manager waits only for the caches that a source names.
  return { authored, source: { ...source, informers: [sandboxes] } };
}
