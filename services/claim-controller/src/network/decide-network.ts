import { annotations, findCondition, labels, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { wasServed } from '../delivery/rules.ts';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

/** The template's policy appears within moments, and its event enqueues the claim; this retry covers a lost event. */
const BLOCKED_RETRY_MS = 5_000;

/** Holds a claim back from looking for a Sandbox while its own rules cannot be written; undefined when it may look. */
export function decideNetworkBlock({ network }: ClaimSnapshot): Plan | undefined {
  if (network?.kind !== 'blocked') return undefined;
  return [{ kind: 'report', report: network.report }, wait(BLOCKED_RETRY_MS, network.report.message)];
}

/** Puts the rules in force. This step precedes every step that labels a pod for them or shows the Sandbox. */
export function decideNetwork({ network }: ClaimSnapshot): Plan {
  return network?.kind === 'due' ? [{ kind: 'secureNetwork', policies: network.policies }] : [];
}

/** Notes on the claim that a change of its rules is in force, once both the policies and the pod follow the change. */
export function decideNetworkNote({ claim, network }: ClaimSnapshot, sandbox: Sandbox): Plan {
  if (network?.kind !== 'inForce' || !wasServed(claim, sandbox)) return [];
  const { [annotations.network]: asked, [annotations.networkApplied]: noted } = claim.metadata.annotations ?? {};
  if (asked === undefined || asked === noted || !hasLeftTemplate(sandbox)) return [];
  const step: Step = { kind: 'noteNetwork', applied: asked };
  return [step];
}

/** Whether the pod has left the template's rules: its Sandbox has the label, and the sandbox-controller has acted on it. */
function hasLeftTemplate({ metadata, status, spec }: Sandbox): boolean {
  const isLabelled = [metadata.labels, spec.podTemplate.metadata?.labels].every(
    (set) => set?.[labels.network] === 'own',
  );
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  return isLabelled && ready?.observedGeneration === metadata.generation;
}
