import { annotations, effectiveMode, isPoolMember, labels, suspenderOf } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { controllerOf, keyOf } from '@sandlot/kube';
import type { KubeClient, Pod, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import {
  carriedContext,
  endOperation,
  inContext,
  isSampled,
  isSlow,
  linkTo,
  linkToContext,
  operationOf,
  recordSpan,
  spanAttributes,
  spanNames,
} from '@sandlot/telemetry';
import type { Operation } from '@sandlot/telemetry';
import type { Informers } from '../wiring/informers.ts';
import { TimedMap } from '../wiring/timed-map.ts';
import { FactsReader } from './trace-facts.ts';
import {
  adoptionOf,
  createdMs,
  creationOf,
  endedBy,
  isCreating,
  isJustAdopted,
  modeChangedMs,
  readyMs,
} from './trace-operations.ts';
import type { Ended } from './trace-operations.ts';
import { phasesOf } from './trace-phases.ts';

export interface SandboxTraceDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly sandboxes: Store<Sandbox>;
  readonly pods: Store<Pod>;
  /** Whether this process is the one that works: it alone makes spans. */
  readonly isLeader: () => boolean;
}

/** What takes longer waits for a person. */
const LONGEST_MS = 3_600_000;
const MAX_RUNNING = 10_000;

type Links = ReturnType<typeof linkTo>;

/** A suspension or a resume on its way. */
interface Turn {
  readonly operation: Operation;
  readonly startMs: number;
  readonly cause: string;
  readonly links: Links;
}

interface Deletion {
  readonly sandbox: Sandbox;
  readonly startMs: number;
}

/**
 * The traces of Sandboxes: creation, suspension, resume and deletion, and where the time of a start went. Spans are made
 * by whoever writes the status that ends an operation, once, so that none is without an end; a process that dies in
 * between takes them along.
 */
export class SandboxTraces {
  readonly #deps: SandboxTraceDeps;
  readonly #facts: FactsReader;
  readonly #turns: TimedMap<Turn>;
  readonly #deletions: TimedMap<Deletion>;
  /** Ended in the pass that runs, by UID. */
  readonly #ended = new Map<string, StatusChange>();
  readonly #finishing = new Set<Promise<void>>();

  constructor(deps: SandboxTraceDeps) {
    this.#deps = deps;
    this.#facts = new FactsReader(deps);
    this.#turns = new TimedMap({ clock: deps.clock, max: MAX_RUNNING });
    this.#deletions = new TimedMap({ clock: deps.clock, max: MAX_RUNNING });
  }

  /** Runs a whole pass in the trace of the operation that the Sandbox is in, if it is in one. */
  async within(key: string, run: () => Promise<void>): Promise<void> {
    const sandbox = this.#deps.sandboxes.get(key);
    const from = sandbox === undefined ? undefined : this.#contextOf(sandbox);
    await (from === undefined ? run() : inContext(from, run));
    const { uid = '' } = sandbox?.metadata ?? {};
    const over = this.#ended.get(uid);
    if (over === undefined) return;
    this.#ended.delete(uid);
    const finishing = this.#finish(over).finally(() => this.#finishing.delete(finishing));
    this.#finishing.add(finishing);
  }

  /** A status was written. */
  published(before: Sandbox, after: Sandbox): void {
    const ended = endedBy(before, after);
    if (ended !== undefined && creationOf(after) !== undefined) {
      this.#ended.set(after.metadata.uid ?? '', { ended, before, after });
    }
  }

  /** Learns from what the caches show. */
  follow({ sandboxes, pods }: Pick<Informers, 'sandboxes' | 'pods'>): void {
    sandboxes.onChange(({ old, next }) => this.sandboxChanged(old, next));
    pods.onChange(({ old, next }) => {
      if (old !== undefined && next === undefined) this.podGone(old);
    });
  }

  /** The cache shows a Sandbox otherwise: its spec asks for a suspension or a resume, or it is gone. */
  sandboxChanged(old: Sandbox | undefined, next: Sandbox | undefined): void {
    if (old === undefined) return;
    if (next === undefined) this.#gone(old);
    else if (effectiveMode(old.spec) !== effectiveMode(next.spec)) this.#turned(old, next);
  }

  /** The cache shows no such Pod any more. */
  podGone(pod: Pod): void {
    const uid = controllerOf(pod)?.uid ?? '';
    const deletion = this.#deletions.get(uid);
    if (deletion === undefined) return;
    this.#deletions.delete(uid);
    this.#endDeletion(deletion);
  }

  /** Waits for what is still read. */
  async close(): Promise<void> {
    await Promise.all(this.#finishing);
  }

  #contextOf(sandbox: Sandbox): Operation['context'] | undefined {
    const { uid = '', annotations: notes = {} } = sandbox.metadata;
    const turn = this.#turns.get(uid);
    if (turn !== undefined) return turn.operation.context;
    if (isCreating(sandbox)) return creationOf(sandbox)?.context;
    return isJustAdopted(sandbox) ? carriedContext(notes[annotations.traceContext], 'sampled') : undefined;
  }

  /** A context that came with the edit is the operation's; one that was there before belongs to another. */
  #turned(old: Sandbox, next: Sandbox): void {
    const { uid = '', generation = 0 } = next.metadata;
    const what = effectiveMode(next.spec) === 'Suspended' ? 'suspend' : 'resume';
    const operation = turnOf({ what, uid, generation, carried: freshCarrier(old, next) });
    const cause = suspenderOf(what === 'suspend' ? next : old);
    if (operation === undefined) return;
    // What came with the edit has taken the place of what it carried.
    const links = linksOf(old);
    this.#turns.set(uid, { operation, startMs: this.#deps.clock.now(), cause, links }, LONGEST_MS);
  }

  #gone(sandbox: Sandbox): void {
    const { uid = '', deletionTimestamp } = sandbox.metadata;
    this.#turns.delete(uid);
    const creation = this.#deps.isLeader() ? creationOf(sandbox) : undefined;
    if (creation === undefined) return;
    const nowMs = this.#deps.clock.now() + 1;
    if (isCreating(sandbox) && !isPoolMember(sandbox)) {
      const startMs = createdMs(sandbox, creation.carriedStartMs);
      const error = 'the sandbox was deleted before it was Ready';
      endOperation(creation, { startMs, endMs: nowMs, error, isSlow: false, attributes: describe(sandbox) });
    }
    const askedMs = Date.parse(deletionTimestamp ?? '');
    const deletion = { sandbox, startMs: Number.isNaN(askedMs) ? nowMs - 1 : Math.min(askedMs, nowMs) };
    if (this.#deps.pods.get(keyOf(sandbox)) === undefined) this.#endDeletion(deletion);
    else this.#deletions.set(uid, deletion, LONGEST_MS);
  }

  #endDeletion({ sandbox, startMs }: Deletion): void {
    const { uid = '' } = sandbox.metadata;
    const operation = operationOf({ name: spanNames.sandboxDelete, uid, marker: 'deleted' });
    if (operation === undefined) return;
    const endMs = this.#deps.clock.now() + 1;
    const links = linksOf(sandbox);
    const slow = isSlow('coldMs', endMs - startMs);
    endOperation(operation, { startMs, endMs, links, isSlow: slow, attributes: describe(sandbox) });
  }

  async #finish(change: StatusChange): Promise<void> {
    const over = change.ended.what === 'create' ? this.#creationOver(change) : this.#turnOver(change);
    if (over !== undefined) await this.#record(change.after, over);
  }

  #creationOver({ ended, after }: StatusChange): Over | undefined {
    const operation = creationOf(after);
    if (operation === undefined) return undefined;
    const endMs = this.#deps.clock.now() + 1;
    const startMs = createdMs(after, operation.carriedStartMs);
    const judgedMs = (ended.error === undefined ? readyMs(after) : endMs) - (operation.carriedStartMs ?? startMs);
    return { operation, ended, startMs, endMs, isSlow: isSlow('coldMs', judgedMs) };
  }

  #turnOver({ ended, before, after }: StatusChange): Over | undefined {
    const { uid = '' } = after.metadata;
    const endMs = this.#deps.clock.now() + 1;
    const turn = this.#turns.get(uid) ?? unseenTurn(ended, before, after);
    this.#turns.delete(uid);
    if (turn === undefined) return undefined;
    const startMs = Math.min(turn.startMs, endMs);
    return { ...turn, ended, startMs, endMs, isSlow: isSlow('coldMs', endMs - startMs) };
  }

  async #record(sandbox: Sandbox, over: Over): Promise<void> {
    const { operation, ended, startMs, endMs, isSlow: slow, cause } = over;
    const isKept = isSampled(operation) || slow || ended.error !== undefined;
    if (isKept && ended.what !== 'suspend') {
      const facts = { ...(await this.#facts.read(sandbox)), startMs, endMs, error: ended.error };
      for (const phase of phasesOf(facts)) recordSpan({ ...phase, parent: operation.context });
    }
    const attributes = { ...describe(sandbox), ...(cause === undefined ? {} : { [spanAttributes.cause]: cause }) };
    endOperation(operation, { startMs, endMs, attributes, links: over.links ?? [], error: ended.error, isSlow: slow });
  }
}

/** A status that was written, and what it ended. */
interface StatusChange {
  readonly ended: Ended;
  readonly before: Sandbox;
  readonly after: Sandbox;
}

interface Over {
  readonly operation: Operation;
  readonly ended: Ended;
  readonly startMs: number;
  readonly endMs: number;
  readonly isSlow: boolean;
  readonly cause?: string | undefined;
  readonly links?: Links | undefined;
}

interface TurnInput {
  readonly what: 'suspend' | 'resume';
  readonly uid: string;
  /** Of the edit that asked for it. */
  readonly generation: number;
  readonly carried: string | undefined;
}

function turnOf({ what, uid, generation, carried }: TurnInput): Operation | undefined {
  const name = what === 'suspend' ? spanNames.sandboxSuspend : spanNames.sandboxResume;
  return operationOf({ name, uid, marker: String(generation), carried });
}

/** One that began before this process looked: the status tells when, to the second. */
function unseenTurn({ what }: Ended, before: Sandbox, after: Sandbox): Turn | undefined {
  if (what === 'create') return undefined;
  const { uid = '', generation = 0 } = after.metadata;
  const operation = turnOf({ what, uid, generation, carried: undefined });
  const startMs = modeChangedMs(what, before, after);
  const cause = suspenderOf(what === 'suspend' ? after : before);
  return operation === undefined || Number.isNaN(startMs)
    ? undefined
    : { operation, startMs, cause, links: linksOf(after) };
}

function freshCarrier(old: Sandbox, next: Sandbox): string | undefined {
  const given = next.metadata.annotations?.[annotations.traceContext];
  return given === old.metadata.annotations?.[annotations.traceContext] ? undefined : given;
}

/** The operations that a later one is about: what the Sandbox carries, and its creation. */
function linksOf(sandbox: Sandbox): Links {
  const carried = linkToContext(carriedContext(sandbox.metadata.annotations?.[annotations.traceContext]));
  return carried.length > 0 ? carried : linkTo(adoptionOf(sandbox) ?? creationOf(sandbox));
}

function describe({ metadata }: Sandbox): Record<string, string> {
  const template = metadata.annotations?.[annotations.templateRef];
  const pool = controllerOf({ metadata });
  return {
    [spanAttributes.namespace]: metadata.namespace ?? '',
    [spanAttributes.sandboxName]: metadata.name ?? '',
    [spanAttributes.sandboxUid]: metadata.uid ?? '',
    [spanAttributes.launchType]: metadata.labels?.[labels.launchType] ?? 'unknown',
    ...(template === undefined ? {} : { [spanAttributes.template]: template }),
    ...(pool?.kind === 'SandboxWarmPool' ? { [spanAttributes.pool]: pool.name } : {}),
  };
}
