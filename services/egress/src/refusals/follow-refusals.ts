import type { SandboxClaim } from '@sandlot/api-types';
import type { Informer } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Refused } from '../plane/protocol.ts';
import { findClaim } from '../wiring/informers.ts';
import { Refusals } from './refusals.ts';
import type { Destination } from './refusals.ts';

export interface FollowedRefusals extends Disposable {
  /** Counts a report of the data plane. */
  add(refused: Refused): void;
  /** What the claim was refused, as readers get it. */
  report(claim: SandboxClaim): object;
}

/** Counts what was refused to the claims that there are. Each replica has what went through it: readers add up the answers of all. */
export function followRefusals(claims: Informer<SandboxClaim>, clock: Clock): FollowedRefusals {
  const refusals = new Refusals(clock);
  const following = claims.onChange(({ old, next }) => {
    const uid = old?.metadata.uid;
    if (uid !== undefined && uid !== next?.metadata.uid) refusals.forget(uid);
  });
  return {
    add: (refused) => {
      // A report may come after its claim has gone, and nothing would forget that one.
      if (findClaim(claims.store, refused.claimUid) !== undefined) refusals.add(refused);
    },
    report: ({ metadata: { uid = '' } }) => ({ refusals: refusals.list(uid).map(format) }),
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

function format({ lastMs, ...destination }: Destination): object {
  return { ...destination, last: new Date(lastMs).toISOString() };
}
