import { intersectNames } from '@sandlot/api-types';
import type { AddressSnapshot, PlaneSandbox, ProxiedTemplate, SeenOwner, SeenWish } from './plan/plan.ts';

type Reach = Pick<PlaneSandbox, 'closed' | 'names' | 'within' | 'denied'>;

const NO_WISH: SeenWish = { isClosed: false, names: [], denied: [] };

/** What holds for an address; undefined: it is no sandbox's, and everything is refused. */
export function decideAddress({ owner }: AddressSnapshot): PlaneSandbox | undefined {
  if (owner === undefined) return undefined;
  const { sandboxUid: uid, namespace, claim } = owner;
  return { uid, namespace, claim: claim?.name ?? '', claimUid: claim?.uid ?? '', ...decideReach(owner) };
}

/**
 * Without a wish the sandbox is open: its NetworkPolicy says what it reaches, and it comes to the proxy for no name. That of a
 * Direct template has no way to the proxy.
 */
function decideReach({ claim, egress, within }: SeenOwner): Reach {
  const wish = claim?.wish ?? NO_WISH;
  if (egress?.mode === 'Proxied') return decideProxied(egress, wish);
  const names = wish.isClosed && egress !== undefined ? wish.names : [];
  return { closed: wish.isClosed, names, denied: wish.denied, within };
}

/** The claim narrows the template: to the names that it lists, or without the addresses that it denies, which else names beat. */
function decideProxied({ names, within }: ProxiedTemplate, { isClosed, names: wished, denied }: SeenWish): Reach {
  return {
    closed: true,
    names: isClosed ? intersectNames(names, wished) : names,
    denied,
    within: within.map((block) => (isClosed ? block : { ...block, except: [...block.except, ...denied] })),
  };
}
