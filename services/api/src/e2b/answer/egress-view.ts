import { egressWishOf } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { SandboxDetail } from '../request/schemas.ts';

/** What a detail says about the rules of a sandbox. */
export function egressView(
  claim: SandboxClaim,
  allowPublicTraffic: boolean,
): Pick<SandboxDetail, 'allowInternetAccess' | 'network'> {
  const wish = egressWishOf(claim);
  const lists = wish === undefined ? {} : { allowOut: [...wish.allowOut], denyOut: [...wish.denyOut] };
  return { allowInternetAccess: wish?.allowInternetAccess ?? null, network: { allowPublicTraffic, ...lists } };
}
