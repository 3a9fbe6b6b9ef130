import type { SandboxSnapshot } from '@sandlot/api-types';
import { getKey } from '@sandlot/kube/objects';
import type { CallId } from './calls.ts';
import type { Manifest, RestoreEnd, WithdrawEnd } from './messages.ts';

interface CallIds {
  readonly save: CallId<Manifest>;
  readonly erase: CallId<'erased'>;
  restore(podUID: string): CallId<RestoreEnd>;
  withdraw(podUID: string): CallId<WithdrawEnd>;
}

/** The calls that there may be for one object. */
export function callIds(object: SandboxSnapshot): CallIds {
  const key = getKey(object);
  const { uid = '' } = object.metadata;
  return {
    save: { key, id: `save/${uid}` },
    erase: { key, id: `erase/${uid}` },
    restore: (podUID) => ({ key, id: `restore/${uid}/${podUID}` }),
    withdraw: (podUID) => ({ key, id: `withdraw/${uid}/${podUID}` }),
  };
}
