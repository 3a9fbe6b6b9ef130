import { findSandboxId } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Bus, CloudEvent, EventReader } from '@sandlot/bus';
import { formatSubject } from '@sandlot/bus';
import type { Clock } from '@sandlot/std';
import { isSandboxId } from '@sandlot/tenancy';
import { notNow } from '../../../errors/refusals.ts';
import { wasReady } from '../../../state/sandbox-state.ts';
import type { Informers } from '../../../wiring/informers.ts';
import { EndedIndex } from './ended-index.ts';
import type { Ended } from './ended-index.ts';

export interface EndedDeps {
  readonly bus: Pick<Bus, 'openHistory'>;
  readonly informers: Pick<Informers, 'claims' | 'sandboxes'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** How long events are kept, and with them what the API knows of sandboxes that are gone (docs/events.md). */
const KNOWN_MS = 7 * 86_400_000;

/** Of the events of one namespace. */
interface Reader {
  readonly events: EventReader | undefined;
  /** The reading that began last; never rejects. */
  last: Promise<void>;
  /** One that has not begun. */
  next: Promise<void> | undefined;
}

/**
 * Sandboxes that have ended: at once those whose end this replica has watched, and others of the last week by their `sandbox.deleted`. Events
 * of a namespace are read when a client first asks about a sandbox that is not there, and then only what came since.
 */
export class EndedSandboxes {
  readonly #deps: EndedDeps;
  readonly #index = new EndedIndex();
  readonly #readers = new Map<string, Reader>();

  constructor(deps: EndedDeps) {
    this.#deps = deps;
    this.#index.onEvicted = (namespace) => this.#readers.delete(namespace);
    deps.informers.claims.onChange(({ old, next }) => {
      if (next === undefined && old !== undefined) this.#note(old);
    });
  }

  /**
   * The sandbox of that id, if it was one of the namespace and is gone; undefined: nothing says so. Rejects with an ApiError 503 if that
   * cannot be found out.
   */
  async find(namespace: string, id: string): Promise<Ended | undefined> {
    const watched = this.#index.find(namespace, id) ?? this.#findStillShown(namespace, id);
    if (watched === undefined) await this.#read(namespace);
    // Without its UID a sandbox is known well enough for an answer.
    else if (watched.sandboxUid === undefined) await this.#read(namespace).catch(() => undefined);
    const ended = this.#index.find(namespace, id) ?? watched;
    return ended !== undefined && this.#deps.clock.now() - ended.atMs < KNOWN_MS ? ended : undefined;
  }

  /** The watch may still show a claim that this replica has just deleted. */
  #findStillShown(namespace: string, id: string): Ended | undefined {
    const claim = this.#deps.informers.claims.store.get(`${namespace}/${id}`);
    return claim === undefined ? undefined : this.#note(claim);
  }

  #note(claim: SandboxClaim): Ended | undefined {
    const id = findSandboxId(claim);
    const pod = claim.status?.sandbox?.name ?? '';
    if (id === undefined || pod === '' || !wasReady(claim)) return undefined;
    const { namespace = '' } = claim.metadata;
    // The Sandbox goes after its claim, but its watch may be ahead.
    const sandboxUid = this.#deps.informers.sandboxes.store.get(`${namespace}/${pod}`)?.metadata.uid;
    const ended = { pod, sandboxUid, atMs: this.#deps.clock.now() };
    this.#index.add(namespace, id, ended);
    return ended;
  }

  /** Reads the events that came since the last time. Those who ask during a reading wait for the next one, together. */
  #read(namespace: string): Promise<void> {
    const reader = this.#readers.get(namespace) ?? {
      events: this.#open(namespace),
      last: Promise.resolve(),
      next: undefined,
    };
    this.#readers.set(namespace, reader);
    this.#index.touch(namespace);
    reader.next ??= reader.last.then(() => {
      reader.next = undefined;
      const reading = this.#readEvents(namespace, reader.events);
      reader.last = reading.catch(() => undefined);
      return reading;
    });
    return reader.next;
  }

  #open(namespace: string): EventReader | undefined {
    const filter = formatSubject('sandbox.deleted', namespace);
    return this.#deps.bus.openHistory()?.openReader({ filter, sinceMs: this.#deps.clock.now() - KNOWN_MS });
  }

  async #readEvents(namespace: string, events: EventReader | undefined): Promise<void> {
    try {
      for await (const event of events?.readNew() ?? []) this.#addEvent(namespace, event);
    } catch {
      const message = 'whether there was such a sandbox cannot be found out now: the event bus cannot be reached';
      throw notNow(message, { afterSeconds: 5 });
    }
  }

  #addEvent(namespace: string, { type, time, data }: CloudEvent): void {
    if (type !== 'sandbox.deleted' || data.namespace !== namespace) return;
    const claim = 'claim' in data ? data.claim?.name : undefined;
    // A claim with another name was not made by the API, or a build ran in it.
    if (claim === undefined || !isSandboxId(claim)) return;
    this.#addUnlessKnown(namespace, claim, { pod: data.name, sandboxUid: data.uid, atMs: Date.parse(time) });
  }

  /** Of what this replica has watched, an event may say the UID. */
  #addUnlessKnown(namespace: string, id: string, ended: Ended): void {
    const known = this.#index.find(namespace, id);
    if (known?.sandboxUid === undefined) this.#index.add(namespace, id, { ...ended, atMs: known?.atMs ?? ended.atMs });
  }
}
