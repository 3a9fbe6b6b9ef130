import { listAuditEntries, isWrite } from '../../src/support/audit-log.ts';
import type { AuditEntry } from '../../src/support/audit-log.ts';
import { CONTROLLER_USER } from './surroundings.ts';

/** A span of wall time, in milliseconds since the epoch. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The requests of the controller in the audit log. Events and its lease are counted apart. */
export interface Requests {
  /** By `verb resource[/subresource]`. */
  readonly writes: Readonly<Record<string, number>>;
  readonly writesTotal: number;
  /** Writes to the Sandbox with most writes, including its children of the same name. */
  readonly mostWritesOfOne: number;
  readonly reads: Readonly<Record<string, number>>;
  readonly events: number;
  readonly leaseWrites: number;
  readonly conflicts: number;
}

/** Counts the requests of the controller that the API server received within the span. */
export async function countControllerRequests(auditLogPath: string, span: Span): Promise<Requests> {
  const tally = new Tally();
  for await (const entry of listAuditEntries(auditLogPath, [`"${CONTROLLER_USER}"`])) {
    const atMs = Date.parse(entry.requestReceivedTimestamp);
    if (entry.user.username === CONTROLLER_USER && atMs >= span.fromMs && atMs < span.toMs) tally.add(entry);
  }
  return tally.requests();
}

class Tally {
  readonly #writes: Record<string, number> = {};
  readonly #reads: Record<string, number> = {};
  readonly #perName = new Map<string, number>();
  #events = 0;
  #leaseWrites = 0;
  #conflicts = 0;

  add({ verb, objectRef, responseStatus }: AuditEntry): void {
    if (objectRef === undefined) return;
    const { resource, subresource } = objectRef;
    if (responseStatus?.code === 409) this.#conflicts += 1;
    if (!isWrite({ verb })) count(this.#reads, `${verb} ${resource}`);
    else if (resource === 'events') this.#events += 1;
    else if (resource === 'leases') this.#leaseWrites += 1;
    else {
      count(this.#writes, [`${verb} ${resource}`, subresource].filter((part) => part !== undefined).join('/'));
      this.#countName(objectRef);
    }
  }

  #countName({ namespace = '', name = '' }: { namespace?: string | undefined; name?: string | undefined }): void {
    const key = `${namespace}/${name}`;
    this.#perName.set(key, (this.#perName.get(key) ?? 0) + 1);
  }

  requests(): Requests {
    let mostWritesOfOne = 0;
    for (const writes of this.#perName.values()) mostWritesOfOne = Math.max(mostWritesOfOne, writes);
    return {
      writes: this.#writes,
      writesTotal: Object.values(this.#writes).reduce((sum, each) => sum + each, 0),
      mostWritesOfOne,
      reads: this.#reads,
      events: this.#events,
      leaseWrites: this.#leaseWrites,
      conflicts: this.#conflicts,
    };
  }
}

function count(into: Record<string, number>, key: string): void {
  into[key] = (into[key] ?? 0) + 1;
}
