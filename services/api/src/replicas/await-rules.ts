// An answer of the API that says that rules hold means every replica of the egress proxy: a sandbox may reach each of them.
import { annotations, findEgressWish, labels, needsEgressProxy } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { noSandbox } from '../errors/api-error.ts';
import { getState } from '../state/sandbox-state.ts';
import type { ClaimedSandbox, ClusterState, WaitLimits } from '../state/cluster-state.ts';
import { askReplicas } from './ask-replicas.ts';
import type { EgressReplicas } from './ask-replicas.ts';

export interface RulesDeps {
  readonly state: Pick<ClusterState, 'withSandbox'> & { readonly claims: Pick<ClusterState['claims'], 'get'> };
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  /** Absent: the installation has no proxy. */
  readonly egressReplicas?: EgressReplicas | undefined;
}

/** How many replicas have the rules of a claim. */
export interface Spread {
  readonly having: number;
  readonly total: number;
  readonly isComplete: boolean;
}

const NOTHING_TO_HAVE: Spread = { having: 0, total: 0, isComplete: true };
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/** Whether the Pod of the sandbox asks the egress resolver. */
export function hasProxy(sandbox: Sandbox | undefined): boolean {
  return sandbox?.metadata.labels?.[labels.egress] !== undefined;
}

/** Whether the claim has names or header rules, which hold at the egress proxy alone. */
export function hasRulesOfProxy(claim: SandboxClaim): boolean {
  const wish = findEgressWish(claim);
  return wish !== undefined && needsEgressProxy(wish);
}

/**
 * Waits until every replica of the proxy has the rules that the claim has then, for the addresses of its Pod. Ends without that
 * on timeout, on abort, and when the sandbox is paused. A sandbox that does not use the proxy is not waited for. Throws an
 * ApiError 404 if the claim is gone.
 */
export async function awaitRules(deps: RulesDeps, claimed: ClaimedSandbox, limits: WaitLimits): Promise<Spread> {
  const { clock, egressReplicas } = deps;
  const { timeoutMs, signal } = limits;
  if (egressReplicas === undefined || !hasProxy(claimed.sandbox)) return NOTHING_TO_HAVE;
  const untilMs = clock.now() + timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const current = getCurrent(deps, claimed);
    const spread = await askForRules(egressReplicas, current, signal);
    const leftMs = untilMs - clock.now();
    const isOver = leftMs <= 0 || signal?.aborted === true || getState(current.sandbox) === 'paused';
    if (spread.isComplete || isOver) return spread;
    await clock.sleep(Math.min(pauseMs, leftMs), signal);
  }
}

function getCurrent({ state }: RulesDeps, { claim }: ClaimedSandbox): ClaimedSandbox {
  const { namespace = '', name = '', uid } = claim.metadata;
  const current = state.claims.get(`${namespace}/${name}`);
  if (current === undefined || current.metadata.uid !== uid || current.metadata.deletionTimestamp !== undefined)
    throw noSandbox(name);
  return state.withSandbox(current);
}

/** Empty while a replica does not have everything. */
const answer = z.object({ text: z.string().optional(), addresses: z.array(z.string()).default([]) });

async function askForRules(
  replicas: EgressReplicas,
  claimed: ClaimedSandbox,
  signal: AbortSignal | undefined,
): Promise<Spread> {
  const { claim } = claimed;
  const { namespace = '', uid = '', annotations: notes } = claim.metadata;
  const text = notes?.[annotations.network];
  if (text === undefined) return NOTHING_TO_HAVE;
  const addresses = listPodAddresses(claimed);
  // A replica that lags may still have the rules for the Pod of before.
  const hasAll = (said: z.output<typeof answer> | undefined): boolean =>
    said?.text === text && addresses.every((address) => said.addresses.includes(address));
  const answers = await askReplicas(replicas, { report: 'applied', namespace, uid, answer }, signal);
  const having = answers.filter((each) => each.status === 'fulfilled' && hasAll(each.value)).length;
  const total = answers.length;
  return { having, total, isComplete: total > 0 && having === total };
}

function listPodAddresses({ claim, sandbox }: ClaimedSandbox): readonly string[] {
  return claim.status?.sandbox?.podIPs ?? sandbox?.status?.podIPs ?? [];
}

/** `1 of 2 replicas of the egress proxy have them`. */
export function formatSpread({ having, total }: Spread): string {
  return `${having} of ${total} replicas of the egress proxy have them`;
}
