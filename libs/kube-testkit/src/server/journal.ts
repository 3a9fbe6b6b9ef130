import type { RequestInfo } from './request.ts';

/** A request as the audit log would have it. */
export interface RequestRecord extends RequestInfo {
  /** `namespace/name`, or the name; for creates of generated names the name that was given. Empty for collections. */
  readonly key: string;
  /** HTTP status of the outcome, whether or not the client saw it; 0 when a fault came first. */
  readonly code: number;
  /** What was sent: the object, the patch or the delete options. */
  readonly body: unknown;
  readonly patchType: 'merge' | 'json' | 'apply' | undefined;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

export function isWrite({ verb }: Pick<RequestInfo, 'verb'>): boolean {
  return !READS.has(verb);
}

/** Everything that was asked of the server, in order. */
export class Journal {
  #records: RequestRecord[] = [];

  add(record: RequestRecord): void {
    this.#records.push(record);
  }

  all(): readonly RequestRecord[] {
    return this.#records;
  }

  writes(): RequestRecord[] {
    return this.#records.filter(isWrite);
  }

  clear(): void {
    this.#records = [];
  }
}
