import type { RequestInfo } from './request.ts';

/** A request as in an audit log. */
export interface RequestRecord extends RequestInfo {
  /** `namespace/name`, or the name; for a create with generateName, the given name or prefix. Empty for collections. */
  readonly key: string;
  /** HTTP status of the outcome, even if the client did not see it. 0 when a fault came first. */
  readonly code: number;
  /** Body of the request: the object, the patch or the delete options. */
  readonly body: unknown;
  readonly patchType: 'merge' | 'json' | 'apply' | undefined;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

export function isWrite({ verb }: Pick<RequestInfo, 'verb'>): boolean {
  return !READS.has(verb);
}

/** All requests to the server, in order. */
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
