import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgressStep } from '@sandlot/local-cluster';
import { UpError } from '../errors.ts';
import type { Target } from '../target.ts';
import { describeTroubles } from './diagnose.ts';
import type { PodTrouble, Workload } from './workloads.ts';
import { isRolledOut, readTroubles, readWorkloads } from './workloads.ts';

/** Workloads that are installed together. Their label `app.kubernetes.io/instance` is the group's name. */
export interface Group {
  readonly name: string;
  readonly namespace: string;
  /** Title of the step in the progress lines. */
  readonly title: string;
}

const POLL_MS = 500;
const ROLLOUT_TIMEOUT_MS = 5 * 60_000;
/** A failed pull or a crash may resolve itself. After this time we assume that it does not. */
const PATIENCE_MS = 20_000;

/** Waits until every workload of a group is rolled out. Throws an UpError that describes the failing pods. */
export async function waitForRollout(target: Target, group: Group, step: ProgressStep): Promise<void> {
  const startedMs = performance.now();
  const hopelessSinceMs = new Map<string, number>();
  for (;;) {
    const workloads = await readWorkloads(target, group);
    if (workloads.length > 0 && workloads.every(isRolledOut)) return;
    const troubles = await readTroubles(target, group);
    step.update(summarise(group, workloads, troubles));
    const nowMs = performance.now();
    const lasting = findLastingTroubles(troubles, hopelessSinceMs, nowMs);
    if (lasting.length > 0 || nowMs - startedMs > ROLLOUT_TIMEOUT_MS) {
      throw await createRolloutError(target, group, { troubles: lasting.length > 0 ? lasting : troubles, workloads });
    }
    await sleep(POLL_MS);
  }
}

/** Returns hopeless troubles that every check has seen for `PATIENCE_MS`. `sinceMs` keeps state between checks. */
function findLastingTroubles(
  troubles: readonly PodTrouble[],
  sinceMs: Map<string, number>,
  nowMs: number,
): readonly PodTrouble[] {
  const hopeless = troubles.filter((trouble) => trouble.hopeless);
  const pods = new Set(hopeless.map(({ pod }) => pod));
  for (const pod of sinceMs.keys()) if (!pods.has(pod)) sinceMs.delete(pod);
  for (const pod of pods) if (!sinceMs.has(pod)) sinceMs.set(pod, nowMs);
  return hopeless.filter(({ pod }) => nowMs - (sinceMs.get(pod) ?? nowMs) > PATIENCE_MS);
}

function summarise(group: Group, workloads: readonly Workload[], troubles: readonly PodTrouble[]): string {
  const shortName = (name: string): string => name.replace(`${group.name}-`, '');
  const missing = workloads.filter((workload) => !isRolledOut(workload)).map(({ name }) => shortName(name));
  const reasons = Map.groupBy(troubles, ({ reason }) => reason);
  const why = [...reasons].map(([reason, [first, ...others]]) =>
    others.length > 0 ? `${reason} in ${others.length + 1} pods` : `${reason} in ${shortName(first?.pod ?? '')}`,
  );
  return why.length > 0 ? why.join(', ') : `waiting for ${missing.join(', ')}`;
}

async function createRolloutError(
  target: Target,
  group: Group,
  { troubles, workloads }: { troubles: readonly PodTrouble[]; workloads: readonly Workload[] },
): Promise<UpError> {
  const names = workloads.filter((workload) => !isRolledOut(workload)).map(({ name }) => name);
  return new UpError({
    step: group.title,
    problem: `${names.join(', ')} did not become ready`,
    details: await describeTroubles(target, troubles, group.namespace),
    advice: formatAdvice(target, group, troubles),
  });
}

function formatAdvice(target: Target, group: Group, troubles: readonly PodTrouble[]): string {
  const images = troubles.some(({ reason }) => reason.includes('Image'));
  if (images && target.kind === 'external') {
    return 'The cluster cannot pull the images. Give it a registry it can reach: npm run up -- --kubeconfig FILE --registry HOST/PATH';
  }
  return `Look further with: KUBECONFIG=${target.kubeconfigPath} kubectl -n ${group.namespace} describe pods\nThen run npm run up again: it continues from here.`;
}
