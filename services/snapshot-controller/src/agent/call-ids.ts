import type { SandboxSnapshot } from '@sandlot/api-types';
import { getKey } from '@sandlot/kube/objects';
import type { CallId } from './calls.ts';
import type { Manifest, RestoreEnd, Uploaded, WithdrawEnd } from './messages.ts';

interface CallIds {
  readonly save: CallId<Manifest>;
  readonly upload: CallId<Uploaded>;
  readonly eraseRemote: CallId<'erased'>;
  erase(nodeName: string): CallId<'erased'>;
  readonly endHold: CallId<'held'>;
  restore(podUID: string): CallId<RestoreEnd>;
  withdraw(podUID: string): CallId<WithdrawEnd>;
}

/** The calls that there may be for one object. */
export function callIds(object: SandboxSnapshot): CallIds {
  const key = getKey(object);
  const { uid = '' } = object.metadata;
  return {
    save: { key, id: `save/${uid}` },
    upload: { key, id: `upload/${uid}` },
    eraseRemote: { key, id: `erase-remote/${uid}` },
    erase: (nodeName) => ({ key, id: `erase/${uid}/${nodeName}` }),
    endHold: { key, id: `endHold/${uid}` },
    restore: (podUID) => ({ key, id: `restore/${uid}/${podUID}` }),
    withdraw: (podUID) => ({ key, id: `withdraw/${uid}/${podUID}` }),
  };
}
