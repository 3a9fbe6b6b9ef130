// Compares the ledger of usage with the objects: what no event has said must not run for ever, nor be missing.
import { formatRecordKey } from '@sandlot/usage';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { Books, KeptRecord, Now } from './books.ts';
import { readObjects } from './facts.ts';
import { findEndMs } from './record.ts';

export interface Present {
  readonly sandbox: Sandbox;
  /** The claim that it belongs to; undefined for a member of a pool. */
  readonly claim: SandboxClaim | undefined;
}

export interface CheckInput {
  /** Every Sandbox that there is. */
  readonly present: Iterable<Present>;
  /** Namespaces that cannot be listed at the moment. */
  readonly unlisted: ReadonlySet<string>;
  /** Keys of records that the check before did not find either. */
  readonly missed: ReadonlySet<string>;
  readonly now: Now;
}

/**
 * Returns the keys of records whose Sandboxes are not there. Only what two checks in a row miss has ended: an event may come
 * before the watch shows its object.
 */
export function checkObjects(books: Books, { present, unlisted, missed, now }: CheckInput): ReadonlySet<string> {
  const there = new Set<string>();
  for (const { sandbox, claim } of present) {
    const { namespace = '', uid = '' } = sandbox.metadata;
    there.add(formatRecordKey(namespace, uid));
    const facts = claim === undefined ? [] : readObjects(claim, sandbox);
    books.see({ namespace, uid, facts }, now);
  }
  const isMissing = ({ namespace, uid, value }: KeptRecord): boolean =>
    findEndMs(value) === undefined && !unlisted.has(namespace) && !there.has(formatRecordKey(namespace, uid));
  const missing = [...books.records].filter(([, record]) => isMissing(record));
  for (const [key, record] of missing) if (missed.has(key)) books.endUnseen(record);
  books.state.value = { ...books.state.value, checkedMs: now.wallMs };
  return new Set(missing.map(([key]) => key));
}
