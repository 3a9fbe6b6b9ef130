import { effectiveMode, findCondition, nameHash, labels, podNameOf, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { controllerOf, isNotFound, persistentVolumeClaims, pods as podResource } from '@sandlot/kube';
import type { KubeClient, KubeObject, ObjectKey, PersistentVolumeClaim, Pod, Service, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { publishableText } from './writes/error-text.ts';
import { isMarkedExpired } from './lifetime/expiry.ts';
import { ownershipOf } from './ownership/ownership.ts';
import type { Aftermath } from './pacing/after-adoption.ts';
import type { Patience } from './pacing/quiet-start.ts';
import { claimNames } from './disks/decide-disks.ts';
import type { RecentWrites } from './writes/recent-writes.ts';
import type { Refusals } from './writes/refusals.ts';
import { useOf } from './wiring/process-state.ts';
import type { EarlyReports } from './lifetime/early-reports.ts';
import type { UseReports } from './lifetime/activity-reports.ts';
import type { Failure, Settings, Snapshot } from './plan/snapshot.ts';
import type { Told } from './troubles/reported-troubles.ts';
import type { WakeRequests } from './wake/wake-requests.ts';

/** Index of Pods by the UID of their controller. */
export const BY_OWNER = 'byOwnerUid';

/** Caches that observation reads. Pods must have the index {@link BY_OWNER}. */
export interface Caches {
  readonly sandboxes: Store<Sandbox>;
  readonly pods: Store<Pod>;
  readonly services: Store<Service>;
  readonly claims: Store<PersistentVolumeClaim>;
}

export interface ObserveDeps {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly recent: RecentWrites;
  readonly wakes: WakeRequests;
  readonly reports: EarlyReports;
  readonly uses: UseReports;
  readonly refusals: Refusals;
  readonly told: Told;
  readonly patience: Patience;
  readonly aftermath: Aftermath;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

/** Keys of {@link BY_OWNER}. */
export function ownerUids(object: KubeObject): readonly string[] {
  const uid = controllerOf(object)?.uid;
  return uid === undefined ? [] : [uid];
}

/** Everything known about the Sandbox under `key`; undefined when there is none. */
export async function observe(deps: ObserveDeps, key: string): Promise<Snapshot | undefined> {
  const { caches, recent, patience, clock, settings } = deps;
  const cached = caches.sandboxes.get(key);
  if (cached === undefined) return undefined;
  const sandbox = recent.latestSandbox(cached);
  const quietMs = patience.quietMs(sandbox);
  const found = await observePods(deps, sandbox);
  return {
    nowMs: clock.now(),
    settings,
    sandbox,
    quietMs,
    aftermathUntilMs: deps.aftermath.untilMs(sandbox),
    yieldsUntilMs: deps.aftermath.yieldsUntilMs(sandbox),
    ...found,
    failures: [...found.failures, ...standingRefusals(deps, sandbox, found)],
    service: recent.latest('Service', key, caches.services.get(key)),
    claims: await observeClaims(deps, sandbox),
    wakeUntilMs: deps.wakes.untilMs(sandbox.metadata.uid ?? ''),
    wakeTrace: deps.wakes.traceOf(sandbox.metadata.uid ?? ''),
    ...useOf(sandbox, deps),
    told: deps.told.of(sandbox.metadata.uid ?? ''),
    gone: false,
  };
}

/** What need not be tried again yet. At the end of a Sandbox, and for a Pod that is there after all, it is no obstacle. */
function standingRefusals({ refusals }: ObserveDeps, sandbox: Sandbox, found: FoundPods): Failure[] {
  if (isMarkedExpired(sandbox)) return [];
  const hasPod = found.ownedPods.length > 0 || found.foreignPod !== undefined;
  return refusals.standing(sandbox).filter(({ phase }) => phase !== 'pod' || !hasPod);
}

/**
 * The disks by name. At the end of a Sandbox their absence has to be certain: one that the cache does not show yet would
 * not be released, and garbage collection would take it against the policy.
 */
async function observeClaims(deps: ObserveDeps, sandbox: Sandbox): Promise<Map<string, PersistentVolumeClaim>> {
  const { namespace = '' } = sandbox.metadata;
  const found = new Map<string, PersistentVolumeClaim>();
  for (const name of claimNames(sandbox)) {
    const key = `${namespace}/${name}`;
    const cached = deps.recent.latest('PersistentVolumeClaim', key, deps.caches.claims.get(key));
    const claim = cached ?? (isMarkedExpired(sandbox) ? await readClaim(deps, { namespace, name }) : undefined);
    if (claim !== undefined) found.set(name, claim);
  }
  return found;
}

async function readClaim({ client, signal }: ObserveDeps, key: ObjectKey): Promise<PersistentVolumeClaim | undefined> {
  try {
    return await client.get(persistentVolumeClaims, key, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

type FoundPods = Pick<Snapshot, 'ownedPods' | 'foreignPod' | 'failures'>;

async function observePods(deps: ObserveDeps, sandbox: Sandbox): Promise<FoundPods> {
  const named = namesOfInterest(sandbox).flatMap((name) => cachedPod(deps, sandbox, name) ?? []);
  const known = [...deps.caches.pods.byIndex(BY_OWNER, sandbox.metadata.uid ?? '')].flatMap(
    (pod) => cachedPod(deps, sandbox, pod.metadata.name ?? '') ?? [],
  );
  const found = split(sandbox, [...known, ...named]);
  if (found.ownedPods.length > 0 || found.foreignPod !== undefined || !mustLook(sandbox)) return found;
  return lookLive(deps, sandbox);
}

function cachedPod({ caches, recent }: ObserveDeps, sandbox: Sandbox, name: string): Pod | undefined {
  const key = `${sandbox.metadata.namespace ?? ''}/${name}`;
  return recent.latest('Pod', key, caches.pods.get(key));
}

/** The name on record first: a Pod taken over by an old release keeps its own. */
function namesOfInterest(sandbox: Sandbox): string[] {
  return [...new Set([podNameOf(sandbox), sandbox.metadata.name ?? ''])];
}

function split(sandbox: Sandbox, candidates: readonly Pod[]): FoundPods {
  const owned = new Map<string, Pod>();
  let foreignPod: Pod | undefined;
  for (const pod of candidates) {
    if (ownershipOf(pod, sandbox) === 'ours') owned.set(pod.metadata.uid ?? '', pod);
    else foreignPod ??= pod;
  }
  return { ownedPods: [...owned.values()], foreignPod: owned.size > 0 ? undefined : foreignPod, failures: [] };
}

/**
 * The cache holds labelled Pods only. Before a suspension is confirmed, and when the record names a Pod the cache lacks,
 * the absence of a Pod has to be certain.
 */
function mustLook(sandbox: Sandbox): boolean {
  if (podNameOf(sandbox) !== sandbox.metadata.name) return true;
  if (effectiveMode(sandbox.spec) === 'Running') return false;
  return findCondition(sandbox.status?.conditions, sandboxConditions.suspended)?.status !== 'True';
}

async function lookLive({ client, signal }: ObserveDeps, sandbox: Sandbox): Promise<FoundPods> {
  const failures: Failure[] = [];
  const found: Pod[] = [];
  for (const name of namesOfInterest(sandbox)) {
    try {
      found.push(await client.get(podResource, { namespace: sandbox.metadata.namespace, name }, { signal }));
    } catch (error) {
      if (isNotFound(error)) continue;
      const message = publishableText(error);
      if (message === undefined) throw error;
      failures.push({ phase: 'pod', message });
    }
  }
  return { ...split(sandbox, found), failures };
}

/** Index of Sandboxes by the label their children carry. */
export const BY_NAME_HASH = 'byNameHash';

/** Keys of {@link BY_NAME_HASH}: same-name children may have no owner to find them by. */
export function nameHashKeys({ metadata: { namespace = '', name = '' } }: KubeObject): readonly string[] {
  return [`${namespace}/${nameHash(name)}`];
}

/** Sandboxes that a change of `child` may concern: its controller, and those its label stands for. */
export function sandboxKeysOf(child: KubeObject, sandboxes: Store<Sandbox>): string[] {
  const { namespace = '' } = child.metadata;
  const owner = controllerOf(child);
  const hash = child.metadata.labels?.[labels.nameHash] ?? '';
  const named = [...sandboxes.byIndex(BY_NAME_HASH, `${namespace}/${hash}`)].map(
    ({ metadata }) => `${namespace}/${metadata.name ?? ''}`,
  );
  return owner?.kind === 'Sandbox' ? [...new Set([`${namespace}/${owner.name}`, ...named])] : named;
}
