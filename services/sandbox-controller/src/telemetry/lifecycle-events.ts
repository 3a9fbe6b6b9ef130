// Lifecycle events of Sandboxes, derived from their status (docs/events.md).
import { annotations, findCondition, labels, sandboxConditions } from '@sandlot/api-types';
import type { Condition, Sandbox } from '@sandlot/api-types';
import { controllerOf } from '@sandlot/kube';
import type { AnyFact, End, Fact, Telling } from '@sandlot/outbox';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { idleDeleteMs } from '../lifetime/idle.ts';

/** How the outbox derives events from Sandboxes. */
export function sandboxTelling(clock: Pick<Clock, 'now'>): Telling<Sandbox> {
  return {
    factsOf: sandboxFacts,
    aboutOf: about,
    endOf: (end) => deletionOf(end, clock.now()),
  };
}

/** What has happened to a Sandbox by its state, in the order of its life. */
export function sandboxFacts(sandbox: Sandbox): readonly AnyFact[] {
  const facts: AnyFact[] = [creationFact(sandbox)];
  const { conditions, resumedAt } = sandbox.status ?? {};
  if (resumedAt !== undefined) {
    facts.push({ type: 'sandbox.resumed', ...at(resumedAt), data: () => about(sandbox) });
  }
  const suspended = whenTrue(conditions, sandboxConditions.suspended);
  if (suspended !== undefined) {
    const data = () => ({ ...about(sandbox), cause: sandbox.status?.suspendedBy ?? 'User' });
    facts.push({ type: 'sandbox.suspended', ...at(suspended.lastTransitionTime), data });
  }
  const ready = whenTrue(conditions, sandboxConditions.ready);
  if (ready !== undefined) facts.push(readyFact(sandbox, ready));
  const finished = whenTrue(conditions, sandboxConditions.finished);
  if (finished !== undefined) facts.push(finishedFact(sandbox, finished));
  if (sandbox.status?.phase === 'Expired') facts.push(...expiryFacts(sandbox));
  return facts;
}

function creationFact(sandbox: Sandbox): Fact<'sandbox.created'> {
  const { creationTimestamp = '' } = sandbox.metadata;
  const data = () => ({ ...about(sandbox), launchType: launchTypeOf(sandbox) });
  return { type: 'sandbox.created', ...at(creationTimestamp), data };
}

function readyFact(sandbox: Sandbox, { lastTransitionTime }: Condition): Fact<'sandbox.ready'> {
  const podName = sandbox.metadata.annotations?.[annotations.podName];
  const data = () => ({ ...about(sandbox), launchType: launchTypeOf(sandbox), podName });
  return { type: 'sandbox.ready', ...at(lastTransitionTime), data };
}

function finishedFact(sandbox: Sandbox, { reason, message, lastTransitionTime }: Condition): Fact<'sandbox.finished'> {
  const outcome = reason === 'PodSucceeded' ? 'succeeded' : 'failed';
  const data = () => ({ ...about(sandbox), outcome, reason, message }) as const;
  return { type: 'sandbox.finished', ...at(lastTransitionTime), data };
}

/** Ready is False from the expiry on, or since before it; while the Sandbox stays expired, its time does not change. */
function expiryFacts(sandbox: Sandbox): readonly Fact<'sandbox.expired'>[] {
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
function deletionOf(end: End<Sandbox>, nowMs: number): Fact<'sandbox.deleted'> | undefined {
  const { last, about: recorded } = end;
  const subject = last === undefined ? recordedAbout.safeParse(recorded).data : about(last);
  if (subject === undefined) return undefined;
  const data = () => ({ ...subject, cause: causeOf(end, nowMs) });
  return { type: 'sandbox.deleted', marker: 'deleted', timeMs: nowMs, data };
}

function causeOf({ last, recorded }: End<Sandbox>, nowMs: number): string {
  const isExpired = last?.status?.phase === 'Expired' || recorded.some((name) => name.startsWith('sandbox.expired/'));
  if (isExpired) return 'expiry';
  if (last === undefined) return 'unknown';
  return (idleDeleteMs({ sandbox: last, nowMs }) ?? Infinity) <= nowMs ? 'idle' : 'user';
}

function whenTrue(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  const condition = findCondition(conditions, type);
  return condition?.status === 'True' ? condition : undefined;
}

/** Identity and time of a transition, from the object alone, so that every publisher derives the same. */
function at(time: string): { readonly marker: string; readonly timeMs: number } {
  return { marker: time, timeMs: Date.parse(time) };
}

function about(sandbox: Sandbox) {
  const { namespace = '', name = '', uid = '' } = sandbox.metadata;
  const owner = controllerOf(sandbox);
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

function launchTypeOf(sandbox: Sandbox): 'warm' | 'cold' | 'unknown' {
  const given = sandbox.metadata.labels?.[labels.launchType];
  return given === 'warm' || given === 'cold' ? given : 'unknown';
}
