// Lifecycle events of Sandboxes, derived from their status (docs/events.md).
import { annotations, findCondition, labels, sandboxConditions } from '@sandlot/api-types';
import type { Condition, Sandbox } from '@sandlot/api-types';
import { findController } from '@sandlot/kube';
import type { AnyFact, End, Fact, FactSource } from '@sandlot/outbox';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { findIdleDeleteMs } from '../lifetime/idle.ts';

/** How the outbox derives events from Sandboxes. */
export function createSandboxFactSource(clock: Pick<Clock, 'now'>): FactSource<Sandbox> {
  return {
    listFacts: listSandboxFacts,
    describe: about,
    findEnd: (end) => findDeletion(end, clock.now()),
  };
}

/** What has happened to a Sandbox by its state, in the order of its life. */
export function listSandboxFacts(sandbox: Sandbox): readonly AnyFact[] {
  const facts: AnyFact[] = [buildCreationFact(sandbox)];
  const { conditions, resumedAt } = sandbox.status ?? {};
  if (resumedAt !== undefined) {
    facts.push({ type: 'sandbox.resumed', ...at(resumedAt), data: () => about(sandbox) });
  }
  const suspended = findTrue(conditions, sandboxConditions.suspended);
  if (suspended !== undefined) {
    const data = () => ({ ...about(sandbox), cause: sandbox.status?.suspendedBy ?? 'User' });
    facts.push({ type: 'sandbox.suspended', ...at(suspended.lastTransitionTime), data });
  }
  const ready = findTrue(conditions, sandboxConditions.ready);
  if (ready !== undefined) facts.push(buildReadyFact(sandbox, ready));
  const finished = findTrue(conditions, sandboxConditions.finished);
  if (finished !== undefined) facts.push(buildFinishedFact(sandbox, finished));
  if (sandbox.status?.phase === 'Expired') facts.push(...listExpiryFacts(sandbox));
  return facts;
}

function buildCreationFact(sandbox: Sandbox): Fact<'sandbox.created'> {
  const { creationTimestamp = '' } = sandbox.metadata;
  const data = () => ({ ...about(sandbox), launchType: getLaunchType(sandbox) });
  return { type: 'sandbox.created', ...at(creationTimestamp), data };
}

function buildReadyFact(sandbox: Sandbox, { lastTransitionTime }: Condition): Fact<'sandbox.ready'> {
  const podName = sandbox.metadata.annotations?.[annotations.podName];
  const data = () => ({ ...about(sandbox), launchType: getLaunchType(sandbox), podName });
  return { type: 'sandbox.ready', ...at(lastTransitionTime), data };
}

function buildFinishedFact(
  sandbox: Sandbox,
  { reason, message, lastTransitionTime }: Condition,
): Fact<'sandbox.finished'> {
  const outcome = reason === 'PodSucceeded' ? 'succeeded' : 'failed';
  const data = () => ({ ...about(sandbox), outcome, reason, message }) as const;
  return { type: 'sandbox.finished', ...at(lastTransitionTime), data };
}

/** Ready is False from the expiry on, or since before it; while the Sandbox stays expired, its time does not change. */
function listExpiryFacts(sandbox: Sandbox): readonly Fact<'sandbox.expired'>[] {
  const ready = findCondition(sandbox.status?.conditions, sandboxConditions.ready);
  if (ready === undefined) return [];
  const { reason, message, lastTransitionTime } = ready;
  const data = () => ({ ...about(sandbox), reason, message });
  return [{ type: 'sandbox.expired', ...at(lastTransitionTime), data }];
}

const recordedAbout = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  claim: z.object({ name: z.string(), uid: z.string() }).optional(),
  pool: z.string().optional(),
  template: z.string().optional(),
});

/** For a Sandbox that was deleted while no process watched, the outbox's record says who owned it, but not what ended it. */
function findDeletion(end: End<Sandbox>, nowMs: number): Fact<'sandbox.deleted'> | undefined {
  const { last, about: recorded } = end;
  const subject = last === undefined ? recordedAbout.safeParse(recorded).data : about(last);
  if (subject === undefined) return undefined;
  const data = () => ({ ...subject, cause: getCause(end, nowMs) });
  return { type: 'sandbox.deleted', marker: 'deleted', timeMs: nowMs, data };
}

function getCause({ last, recorded }: End<Sandbox>, nowMs: number): string {
  const isExpired = last?.status?.phase === 'Expired' || recorded.some((name) => name.startsWith('sandbox.expired/'));
  if (isExpired) return 'expiry';
  if (last === undefined) return 'unknown';
  return (findIdleDeleteMs({ sandbox: last, nowMs }) ?? Infinity) <= nowMs ? 'idle' : 'user';
}

function findTrue(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  const condition = findCondition(conditions, type);
  return condition?.status === 'True' ? condition : undefined;
}

/** Identity and time of a transition, from the object alone, so that every publisher derives the same. */
function at(time: string): { readonly marker: string; readonly timeMs: number } {
  return { marker: time, timeMs: Date.parse(time) };
}

function about(sandbox: Sandbox) {
  const { namespace = '', name = '', uid = '' } = sandbox.metadata;
  const owner = findController(sandbox);
  const template = sandbox.metadata.annotations?.[annotations.templateRef];
  return {
    namespace,
    name,
    uid,
    ...(owner?.kind === 'SandboxClaim' ? { claim: { name: owner.name, uid: owner.uid } } : {}),
    ...(owner?.kind === 'SandboxWarmPool' ? { pool: owner.name } : {}),
    ...(template === undefined ? {} : { template }),
  };
}

function getLaunchType(sandbox: Sandbox): 'warm' | 'cold' | 'unknown' {
  const given = sandbox.metadata.labels?.[labels.launchType];
  return given === 'warm' || given === 'cold' ? given : 'unknown';
}
