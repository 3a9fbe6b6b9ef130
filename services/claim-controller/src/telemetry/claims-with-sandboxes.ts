import type { SandboxClaim } from '@sandlot/api-types';
import { findController, getKey } from '@sandlot/kube';
import type { Informer } from '@sandlot/kube';
import type { Cache } from '../wiring/cache.ts';

/** The claims with the changes of their own Sandboxes, because some events of a claim follow from its Sandbox. */
export function showClaims({
  claims,
  sandboxes,
}: Cache): Pick<Informer<SandboxClaim>, 'onChange' | 'store' | 'listForbidden'> {
  return {
    store: claims.store,
    listForbidden: () => claims.listForbidden(),
    onChange: (handler) => {
      const ofClaims = claims.onChange(handler);
      const ofSandboxes = sandboxes.onChange(({ next }) => {
        const owner = next === undefined ? undefined : findController(next);
        if (owner?.kind !== 'SandboxClaim') return;
        const claim = claims.store.get(`${next?.metadata.namespace ?? ''}/${owner.name}`);
        if (claim?.metadata.uid !== owner.uid) return;
        handler({ key: getKey(claim), old: claim, next: claim, initial: false });
      });
      return {
        [Symbol.dispose]: () => {
          ofClaims[Symbol.dispose]();
          ofSandboxes[Symbol.dispose]();
        },
      };
    },
  };
}
