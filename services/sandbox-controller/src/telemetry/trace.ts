import { annotations, resolveMode, isPoolMember, labels, getSuspender } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { findController, getKey } from '@sandlot/kube';
import type { KubeClient, Pod, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import {
  parseCarriedContext,
  endOperation,
  runInContext,
  isSampled,
  isSlow,
  linkTo,
  linkToContext,
  findOperation,
  recordSpan,
  spanAttributes,
  spanNames,
} from '@sandlot/telemetry';
import type { Operation } from '@sandlot/telemetry';
import type { Informers } from '../wiring/informers.ts';
import { TimedMap } from '../wiring/timed-map.ts';
import { FactsReader } from './trace-facts.ts';
import {
  findAdoption,
  getCreatedMs,
  findCreation,
  buildEndedOperation,
  isCreating,
  isJustAdopted,
  getModeChangedMs,
  findReadyMs,
} from './trace-operations.ts';
import type { Ended } from './trace-operations.ts';
import { listPhases } from './trace-phases.ts';

export interface SandboxTraceDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly sandboxes: Store<Sandbox>;
  readonly pods: Store<Pod>;
  /** Whether this process owns the Sandbox: the owner alone makes its spans. */
  readonly isOwner: (sandbox: Sandbox) => boolean;
}

/** What takes longer waits for a person and gets no span. */
const LONGEST_MS = 3_600_000;
const MAX_RUNNING = 10_000;

type Links = ReturnType<typeof linkTo>;

/** A suspension or a resume that has begun. */
interface ModeChange {
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
 * The traces of Sandboxes: creation, suspension, resume and deletion, and the phases of a start. The process that writes
 * the status that ends an operation makes its spans, once and complete; if that process dies in between, they are lost.
 */
export class SandboxTraces {
  readonly #deps: SandboxTraceDeps;
  readonly #facts: FactsReader;
  readonly #modeChanges: TimedMap<ModeChange>;
  readonly #deletions: TimedMap<Deletion>;
  /** Status writes of running passes that end an operation, by UID. */
  readonly #endings = new Map<string, StatusChange>();
  readonly #recording = new Set<Promise<void>>();

  constructor(deps: SandboxTraceDeps) {
    this.#deps = deps;
    this.#facts = new FactsReader(deps);
    this.#modeChanges = new TimedMap({ clock: deps.clock, max: MAX_RUNNING });
    this.#deletions = new TimedMap({ clock: deps.clock, max: MAX_RUNNING });
  }

  /** Runs a whole pass in the trace of the operation that the Sandbox is in, if any. */
  async within(key: string, run: () => Promise<void>): Promise<void> {
    const sandbox = this.#deps.sandboxes.get(key);
    const from = sandbox === undefined ? undefined : this.#findContext(sandbox);
    await (from === undefined ? run() : runInContext(from, run));
    const { uid = '' } = sandbox?.metadata ?? {};
    const ending = this.#endings.get(uid);
    if (ending === undefined) return;
    this.#endings.delete(uid);
    const recording = this.#recordEnding(ending).finally(() => this.#recording.delete(recording));
    this.#recording.add(recording);
  }

  /** Call it with every status that was written. */
  onStatusWritten(before: Sandbox, after: Sandbox): void {
    const ended = buildEndedOperation(before, after);
    if (ended !== undefined && findCreation(after) !== undefined) {
      this.#endings.set(after.metadata.uid ?? '', { ended, before, after });
    }
  }

  /** Follows the caches. */
  follow({ sandboxes, pods }: Pick<Informers, 'sandboxes' | 'pods'>): void {
    sandboxes.onChange(({ old, next }) => this.#onSandboxChange(old, next));
    pods.onChange(({ old, next }) => {
      if (old !== undefined && next === undefined) this.#onPodGone(old);
    });
  }

  #onSandboxChange(old: Sandbox | undefined, next: Sandbox | undefined): void {
    if (old === undefined) return;
    if (next === undefined) this.#onSandboxGone(old);
    else if (resolveMode(old.spec) !== resolveMode(next.spec)) this.#beginModeChange(old, next);
  }

  #onPodGone(pod: Pod): void {
    const uid = findController(pod)?.uid ?? '';
    const deletion = this.#deletions.get(uid);
    if (deletion === undefined) return;
    this.#deletions.delete(uid);
    this.#endDeletion(deletion);
  }

  /** Waits for spans that are still being recorded. */
  async close(): Promise<void> {
    await Promise.all(this.#recording);
  }

  #findContext(sandbox: Sandbox): Operation['context'] | undefined {
    const { uid = '', annotations: notes = {} } = sandbox.metadata;
    const modeChange = this.#modeChanges.get(uid);
    if (modeChange !== undefined) return modeChange.operation.context;
    if (isCreating(sandbox)) return findCreation(sandbox)?.context;
    return isJustAdopted(sandbox) ? parseCarriedContext(notes[annotations.traceContext], 'sampled') : undefined;
  }

  /** A context that came with the edit belongs to this operation; an older one belongs to another. */
  #beginModeChange(old: Sandbox, next: Sandbox): void {
    const { uid = '', generation = 0 } = next.metadata;
    const what = resolveMode(next.spec) === 'Suspended' ? 'suspend' : 'resume';
    const operation = findModeOperation({ what, uid, generation, carried: findNewCarrier(old, next) });
    const cause = getSuspender(what === 'suspend' ? next : old);
    if (operation === undefined) return;
    // The edit has replaced the context that the Sandbox carried before.
    const links = listLinks(old);
    this.#modeChanges.set(uid, { operation, startMs: this.#deps.clock.now(), cause, links }, LONGEST_MS);
  }

  #onSandboxGone(sandbox: Sandbox): void {
    const { uid = '', deletionTimestamp } = sandbox.metadata;
    this.#modeChanges.delete(uid);
    const creation = this.#deps.isOwner(sandbox) ? findCreation(sandbox) : undefined;
    if (creation === undefined) return;
    const nowMs = this.#deps.clock.now() + 1;
    if (isCreating(sandbox) && !isPoolMember(sandbox)) {
      const startMs = getCreatedMs(sandbox, creation.carriedStartMs);
      const error = 'the sandbox was deleted before it was Ready';
      endOperation(creation, { startMs, endMs: nowMs, error, isSlow: false, attributes: describe(sandbox) });
    }
    const askedMs = Date.parse(deletionTimestamp ?? '');
    const deletion = { sandbox, startMs: Number.isNaN(askedMs) ? nowMs - 1 : Math.min(askedMs, nowMs) };
    if (this.#deps.pods.get(getKey(sandbox)) === undefined) this.#endDeletion(deletion);
    else this.#deletions.set(uid, deletion, LONGEST_MS);
  }

  #endDeletion({ sandbox, startMs }: Deletion): void {
    const { uid = '' } = sandbox.metadata;
    const operation = findOperation({ name: spanNames.sandboxDelete, uid, marker: 'deleted' });
    if (operation === undefined) return;
    const endMs = this.#deps.clock.now() + 1;
    const links = listLinks(sandbox);
    const slow = isSlow('coldMs', endMs - startMs);
    endOperation(operation, { startMs, endMs, links, isSlow: slow, attributes: describe(sandbox) });
  }

  async #recordEnding(change: StatusChange): Promise<void> {
    const finished = change.ended.what === 'create' ? this.#finishCreation(change) : this.#finishModeChange(change);
    if (finished !== undefined) await this.#recordSpans(change.after, finished);
  }

  #finishCreation({ ended, after }: StatusChange): Finished | undefined {
    const operation = findCreation(after);
    if (operation === undefined) return undefined;
    const endMs = this.#deps.clock.now() + 1;
    const startMs = getCreatedMs(after, operation.carriedStartMs);
    const judgedMs = (ended.error === undefined ? findReadyMs(after) : endMs) - (operation.carriedStartMs ?? startMs);
    return { operation, ended, startMs, endMs, isSlow: isSlow('coldMs', judgedMs) };
  }

  #finishModeChange({ ended, before, after }: StatusChange): Finished | undefined {
    const { uid = '' } = after.metadata;
    const endMs = this.#deps.clock.now() + 1;
    const modeChange = this.#modeChanges.get(uid) ?? findUnseenModeChange(ended, before, after);
    this.#modeChanges.delete(uid);
    if (modeChange === undefined) return undefined;
    const startMs = Math.min(modeChange.startMs, endMs);
    return { ...modeChange, ended, startMs, endMs, isSlow: isSlow('coldMs', endMs - startMs) };
  }

  async #recordSpans(sandbox: Sandbox, finished: Finished): Promise<void> {
    const { operation, ended, startMs, endMs, isSlow: slow, cause, links = [] } = finished;
    const isKept = isSampled(operation) || slow || ended.error !== undefined;
    if (isKept && ended.what !== 'suspend') {
      const facts = { ...(await this.#facts.read(sandbox)), startMs, endMs, error: ended.error };
      for (const phase of listPhases(facts)) recordSpan({ ...phase, parent: operation.context });
    }
    const attributes = { ...describe(sandbox), ...(cause === undefined ? {} : { [spanAttributes.cause]: cause }) };
    endOperation(operation, { startMs, endMs, attributes, links, error: ended.error, isSlow: slow });
  }
}

/** A status that was written, and the operation that it ends. */
interface StatusChange {
  readonly ended: Ended;
  readonly before: Sandbox;
  readonly after: Sandbox;
}

/** An operation with its times. */
interface Finished {
  readonly operation: Operation;
  readonly ended: Ended;
  readonly startMs: number;
  readonly endMs: number;
  readonly isSlow: boolean;
  readonly cause?: string | undefined;
  readonly links?: Links | undefined;
}

interface ModeOperation {
  readonly what: 'suspend' | 'resume';
  readonly uid: string;
  /** Of the edit that asks for it. */
  readonly generation: number;
  readonly carried: string | undefined;
}

function findModeOperation({ what, uid, generation, carried }: ModeOperation): Operation | undefined {
  const name = what === 'suspend' ? spanNames.sandboxSuspend : spanNames.sandboxResume;
  return findOperation({ name, uid, marker: String(generation), carried });
}

/** One that began before this process: the status shows when, to the second. */
function findUnseenModeChange({ what }: Ended, before: Sandbox, after: Sandbox): ModeChange | undefined {
  if (what === 'create') return undefined;
  const { uid = '', generation = 0 } = after.metadata;
  const operation = findModeOperation({ what, uid, generation, carried: undefined });
  const startMs = getModeChangedMs(what, before, after);
  const cause = getSuspender(what === 'suspend' ? after : before);
  return operation === undefined || Number.isNaN(startMs)
    ? undefined
    : { operation, startMs, cause, links: listLinks(after) };
}

/** The trace context that came with an edit. */
function findNewCarrier(old: Sandbox, next: Sandbox): string | undefined {
  const carrier = next.metadata.annotations?.[annotations.traceContext];
  return carrier === old.metadata.annotations?.[annotations.traceContext] ? undefined : carrier;
}

/** The earlier operation to link to: the one that the Sandbox carries, else its adoption or creation. */
function listLinks(sandbox: Sandbox): Links {
  const carried = linkToContext(parseCarriedContext(sandbox.metadata.annotations?.[annotations.traceContext]));
  return carried.length > 0 ? carried : linkTo(findAdoption(sandbox) ?? findCreation(sandbox));
}

function describe({ metadata }: Sandbox): Record<string, string> {
  const template = metadata.annotations?.[annotations.templateRef];
  const pool = findController({ metadata });
  return {
    [spanAttributes.namespace]: metadata.namespace ?? '',
    [spanAttributes.sandboxName]: metadata.name ?? '',
    [spanAttributes.sandboxUid]: metadata.uid ?? '',
    [spanAttributes.launchType]: metadata.labels?.[labels.launchType] ?? 'unknown',
    ...(template === undefined ? {} : { [spanAttributes.template]: template }),
    ...(pool?.kind === 'SandboxWarmPool' ? { [spanAttributes.pool]: pool.name } : {}),
  };
}
