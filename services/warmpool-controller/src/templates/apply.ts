import { isAborted, isAlreadyExists, isConflict, isInvalid, isNotFound, networkPolicies } from '@sandlot/kube';
import { decidePolicy } from './decide.ts';
import type { PolicyStep } from './decide.ts';
import { createPolicy, deletePolicy, replacePolicy } from './network/write-policy.ts';
import type { PolicyWriter } from './network/write-policy.ts';
import type { Refusals } from './network/refusals.ts';
import type { TemplateSnapshot } from './snapshot.ts';
import type { PolicyOutcome } from './status.ts';

export interface ApplyDeps extends PolicyWriter {
  readonly refusals: Refusals;
}

export interface Subject {
  readonly key: string;
  readonly snapshot: TemplateSnapshot;
}

/** How the NetworkPolicy stands after a pass; `error` is worth another try. */
export interface Settled {
  readonly outcome: PolicyOutcome;
  readonly error?: Error;
  readonly awaitsDeletion: boolean;
}

/** Takes the steps towards the policy of a template; a step that fails is an outcome. Rejects only when told to stop. */
export async function applyPolicy(deps: ApplyDeps, { key, snapshot }: Subject): Promise<Settled> {
  const step = decidePolicy(snapshot);
  try {
    return { outcome: await take(deps, { key, snapshot }, step), awaitsDeletion: step.kind === 'await' };
  } catch (error) {
    if (isAborted(error)) throw error;
    return failed(deps, { key, snapshot }, error);
  }
}

async function take(deps: ApplyDeps, { snapshot }: Subject, step: PolicyStep): Promise<PolicyOutcome> {
  const { refusal } = snapshot;
  const written: PolicyOutcome =
    refusal === undefined ? { kind: 'applied' } : { kind: 'refused', message: refusal.message };
  switch (step.kind) {
    case 'create':
      await createPolicy(deps, step.wanted);
      return written;
    case 'replace':
      await replacePolicy(deps, step.present, step.wanted);
      return written;
    case 'delete':
      await deletePolicy(deps, step.present);
      return { kind: 'unmanaged' };
    case 'keep':
      return step.because === 'unmanaged' ? { kind: 'unmanaged' } : written;
    case 'leave':
      return { kind: 'notControlled' };
    case 'await':
      return { kind: 'pending' };
  }
}

async function failed(deps: ApplyDeps, subject: Subject, error: unknown): Promise<Settled> {
  const { template, refusal } = subject.snapshot;
  if (isInvalid(error) && refusal === undefined) {
    deps.metrics.count('refused');
    deps.refusals.record(subject.key, template, error.message);
    return applyPolicy(deps, { ...subject, snapshot: { ...subject.snapshot, refusal: { message: error.message } } });
  }
  if (isAlreadyExists(error)) return lookAgain(deps, subject);
  // The cache lags: somebody changed the policy, or deleted it.
  if (isConflict(error) || isNotFound(error)) return { outcome: { kind: 'pending' }, awaitsDeletion: false };
  if (!(error instanceof Error)) throw error;
  return { outcome: { kind: 'failed', message: error.message }, error, awaitsDeletion: false };
}

/** A policy of that name that the cache does not show: our own of a moment ago, or somebody's. The server knows. */
async function lookAgain(deps: ApplyDeps, { key, snapshot }: Subject): Promise<Settled> {
  const { client, signal } = deps;
  const step = decidePolicy(snapshot);
  if (step.kind !== 'create') return { outcome: { kind: 'pending' }, awaitsDeletion: false };
  const { namespace, name } = step.wanted.metadata;
  try {
    const policy = await client.get(networkPolicies, { namespace, name }, { signal });
    return await applyPolicy(deps, { key, snapshot: { ...snapshot, policy } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return { outcome: { kind: 'pending' }, awaitsDeletion: false };
  }
}
