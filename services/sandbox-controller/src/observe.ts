import { resolveMode, findCondition, getPodName, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { persistentVolumeClaims, pods as podResource } from '@sandlot/kube';
import type { KubeClient, NetworkPolicy, PersistentVolumeClaim, Pod, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { listDiskNames } from './disks/disk-names.ts';
import type { DrainView } from './drain/drain-view.ts';
import { observeHibernations } from './hibernate/observe-hibernations.ts';
import { isMarkedExpired } from './lifetime/expiry.ts';
import { needsResize } from './pod/decide-cpu.ts';
import type { EgressResolver } from './pod/egress-resolver.ts';
import { observeNetwork } from './pod/observe-network.ts';
import { getOwnership } from './ownership/ownership.ts';
import type { Failure, Phase, Settings, Snapshot } from './plan/snapshot.ts';
import { isAbsenceDoubtful, readStart } from './start-memory/start-record.ts';
import { BY_OWNER } from './wiring/informers.ts';
import type { ProcessState } from './wiring/process-state.ts';
import type { Collections } from './writes/collections.ts';
import { findPublishableText } from './writes/error-text.ts';

export interface ObserveDeps extends ProcessState {
  readonly client: KubeClient;
  readonly collections: Collections;
  readonly policies: Pick<Store<NetworkPolicy>, 'get'>;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly signal: AbortSignal;
  /** The resolver of the egress proxy as it is now. Absent in an installation without one. */
  readonly findResolver?: (() => EgressResolver) | undefined;
  /** The authority of the egress proxy as it is now, in PEM; empty: it cannot be read. Absent in an installation without one. */
  readonly readAuthority?: (() => string) | undefined;
  /** Absent in an installation that does not move Sandboxes from nodes that are being emptied. */
  readonly drain?: DrainView | undefined;
}

/** Everything known about the Sandbox under `key`; undefined when there is none. */
export async function observe(deps: ObserveDeps, key: string): Promise<Snapshot | undefined> {
  const { collections, clock, settings } = deps;
  const sandbox = collections.sandboxes.own.get(key);
  if (sandbox === undefined) return undefined;
  recordFirstSight(deps, sandbox);
  const cached = await observePods(deps, sandbox);
  const rejections = observeRejections(deps, sandbox, cached);
  const seen = { ...cached, failures: [...cached.failures, ...rejections] };
  const { failures, ...memory } = await observeHibernations(deps, sandbox, seen);
  const isDoubtful = isAbsenceDoubtful(sandbox, { ...cached, ...memory });
  const found = isDoubtful ? await readPodsLive(deps, sandbox) : cached;
  return {
    nowMs: clock.now(),
    settings,
    sandbox,
    ...observeHolds(deps, sandbox),
    ...found,
    ...memory,
    ...observeDrain(deps, sandbox, { ...found, ...memory }),
    ...(await observeNetwork(deps, sandbox, { ...found, ...memory, failures: [...failures, ...found.failures] })),
    egressResolver: deps.findResolver?.(),
    egressCa: deps.readAuthority?.(),
    service: collections.services.own.get(key),
    disks: await observeDisks(deps, sandbox),
    ...observeWakeRequest(deps, sandbox),
    ...observeActivity(deps, sandbox),
    reportedTroubles: deps.reportedTroubles.of(sandbox.metadata.uid ?? ''),
    gone: false,
  };
}

/** What counts from the pass that first sees it is dated here; everything after only reads. */
function recordFirstSight({ quietStarts, adoptionHolds, earlyActivity }: ObserveDeps, sandbox: Sandbox): void {
  quietStarts.grant(sandbox);
  adoptionHolds.grant(sandbox);
  earlyActivity.record(sandbox);
}

function observeDrain(
  { drain }: ObserveDeps,
  sandbox: Sandbox,
  { ownedPods: [pod], hibernations: [newest] }: Pick<Snapshot, 'ownedPods' | 'hibernations'>,
): Pick<Snapshot, 'drain' | 'isSourceEmptied'> {
  if (drain === undefined) return {};
  return { drain: drain.find(sandbox, pod), isSourceEmptied: drain.isEmptied(newest?.status?.source?.nodeName) };
}

type Holds = Pick<Snapshot, 'quietMs' | 'statusHoldUntilMs'>;

function observeHolds({ quietStarts, adoptionHolds }: ObserveDeps, sandbox: Sandbox): Holds {
  return {
    quietMs: quietStarts.quietMs(sandbox),
    statusHoldUntilMs: adoptionHolds.statusHoldUntilMs(sandbox),
  };
}

function observeWakeRequest(
  { wakes }: ObserveDeps,
  sandbox: Sandbox,
): Pick<Snapshot, 'wakeRequestUntilMs' | 'wakeTrace'> {
  const request = wakes.find(sandbox);
  return { wakeRequestUntilMs: request?.untilMs, wakeTrace: request?.trace };
}

/** When the Sandbox was used, besides what its status and annotations say. */
export function observeActivity(
  { earlyActivity, activityReports }: Pick<ProcessState, 'earlyActivity' | 'activityReports'>,
  sandbox: Sandbox,
): Pick<Snapshot, 'earlyReportSeenMs' | 'lastUsedMs'> {
  return {
    earlyReportSeenMs: earlyActivity.seenMs(sandbox),
    lastUsedMs: activityReports.lastUsedMs(sandbox.metadata.uid),
  };
}

/**
 * Rejected writes that it is too early to retry. They do not hold up an expiry, nor matter once a Pod exists after
 * all, or is gone that was to be hibernated or resized.
 */
function observeRejections({ rejectedWrites }: ObserveDeps, sandbox: Sandbox, found: FoundPods): Failure[] {
  if (isMarkedExpired(sandbox)) return [];
  const hasPod = found.ownedPods.length > 0 || found.foreignPod !== undefined;
  const matters: Partial<Record<Phase, boolean>> = {
    hibernation: hasPod || readStart(sandbox).kind === 'open',
    pod: !hasPod,
    resize: found.ownedPods.some((pod) => needsResize(sandbox, pod)),
  };
  return rejectedWrites.listPending(sandbox).filter(({ phase }) => matters[phase] ?? true);
}

/**
 * The disks by name. At the end of a Sandbox their absence must be certain, so a missing one is read live: the controller
 * would not release a disk that the cache does not show yet, and garbage collection would delete it against the policy.
 */
async function observeDisks(deps: ObserveDeps, sandbox: Sandbox): Promise<Map<string, PersistentVolumeClaim>> {
  const { client, signal, collections } = deps;
  const { namespace = '' } = sandbox.metadata;
  const found = new Map<string, PersistentVolumeClaim>();
  for (const name of listDiskNames(sandbox)) {
    const known = collections.disks.own.get(`${namespace}/${name}`);
    const readLive = () => client.find(persistentVolumeClaims, { namespace, name }, { signal });
    const disk = known ?? (isMarkedExpired(sandbox) ? await readLive() : undefined);
    if (disk !== undefined) found.set(name, disk);
  }
  return found;
}

type FoundPods = Pick<Snapshot, 'ownedPods' | 'foreignPod' | 'failures'>;

async function observePods(deps: ObserveDeps, sandbox: Sandbox): Promise<FoundPods> {
  const { own } = deps.collections.pods;
  const { namespace = '', uid = '' } = sandbox.metadata;
  const named = listPodNames(sandbox).flatMap((name) => own.get(`${namespace}/${name}`) ?? []);
  const found = groupByOwner(sandbox, [...own.listByIndex(BY_OWNER, uid), ...named]);
  if (found.ownedPods.length > 0 || found.foreignPod !== undefined || !needsLiveRead(sandbox)) return found;
  return readPodsLive(deps, sandbox);
}

/** The recorded name first: a Pod that was taken over keeps its own. */
function listPodNames(sandbox: Sandbox): string[] {
  return [...new Set([getPodName(sandbox), sandbox.metadata.name ?? ''])];
}

function groupByOwner(sandbox: Sandbox, candidates: readonly Pod[]): FoundPods {
  const owned = new Map<string, Pod>();
  let foreignPod: Pod | undefined;
  for (const pod of candidates) {
    if (getOwnership(pod, sandbox) === 'ours') owned.set(pod.metadata.uid ?? '', pod);
    else foreignPod ??= pod;
  }
  return { ownedPods: [...owned.values()], foreignPod: owned.size > 0 ? undefined : foreignPod, failures: [] };
}

/**
 * Whether the absence of a Pod must be certain: before a suspension is confirmed, and when the annotation names a Pod that
 * the cache lacks. The cache holds only Pods with the tracking label.
 */
function needsLiveRead(sandbox: Sandbox): boolean {
  if (getPodName(sandbox) !== sandbox.metadata.name) return true;
  if (resolveMode(sandbox.spec) === 'Running') return false;
  return findCondition(sandbox.status?.conditions, sandboxConditions.suspended)?.status !== 'True';
}

async function readPodsLive({ client, signal }: ObserveDeps, sandbox: Sandbox): Promise<FoundPods> {
  const { namespace } = sandbox.metadata;
  const failures: Failure[] = [];
  const found: Pod[] = [];
  for (const name of listPodNames(sandbox)) {
    try {
      const pod = await client.find(podResource, { namespace, name }, { signal });
      if (pod !== undefined) found.push(pod);
    } catch (error) {
      const message = findPublishableText(error);
      if (message === undefined) throw error;
      failures.push({ phase: 'pod', message });
    }
  }
  return { ...groupByOwner(sandbox, found), failures };
}
