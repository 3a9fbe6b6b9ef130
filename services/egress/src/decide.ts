import { intersectNames } from '@sandlot/api-types';
import { decideRules } from './credentials/decide-rules.ts';
import type { AddressSnapshot, Decided, PlaneSandbox, ProxiedTemplate, SeenOwner, SeenWish } from './plan/plan.ts';

type Reach = Pick<PlaneSandbox, 'closed' | 'observe' | 'names' | 'within' | 'denied'>;

const NO_WISH: SeenWish = { isClosed: false, names: [], denied: [], isObserved: false, rules: [] };

/** What holds for an address; undefined: it is no sandbox's, and everything is refused. */
export function decideAddress({ owner }: AddressSnapshot): Decided | undefined {
  if (owner === undefined) return undefined;
  const { sandboxUid: uid, namespace, template = '', claim, hasPolicy } = owner;
  const held = { claim: claim?.name ?? '', claimUid: claim?.uid ?? '' };
  const { rules, credentials } = decideRules(owner);
  const text = hasPolicy ? claim?.text : undefined;
  return { sandbox: { uid, namespace, template, ...held, ...decideReach(owner), rules }, text, credentials };
}

/**
 * Without a wish the sandbox is open: its NetworkPolicy says what it reaches, and it comes to the proxy for no name. That of a
 * Direct template has no way to the proxy.
 */
function decideReach({ claim, egress, within }: SeenOwner): Reach {
  const wish = claim?.wish ?? NO_WISH;
  if (egress?.mode === 'Proxied') return decideProxied(egress, wish);
  if (egress !== undefined && wish.isObserved) return observe(wish.names, within);
  const names = wish.isClosed && egress !== undefined ? wish.names : [];
  return { closed: wish.isClosed, observe: false, names, denied: wish.denied, within };
}

/**
 * The claim narrows the template: to the names that it lists, or without the addresses that it denies, which else names beat. A
 * claim that is observed does not narrow it.
 */
function decideProxied({ names, within, isObserved = false }: ProxiedTemplate, wish: SeenWish): Reach {
  const { isClosed, names: wished, denied } = wish;
  if (isObserved && (wish.isObserved || !isClosed)) return observe(wish.isObserved ? wished : names, within);
  if (isObserved) return { closed: true, observe: false, names: wished, denied, within };
  if (wish.isObserved) return { closed: true, observe: false, names, denied: [], within };
  return {
    closed: true,
    observe: false,
    names: isClosed ? intersectNames(names, wished) : names,
    denied,
    within: within.map((block) => (isClosed ? block : { ...block, except: [...block.except, ...denied] })),
  };
}

/** Every name is let through, and those that the list does not have are reported. */
function observe(names: readonly string[], within: Reach['within']): Reach {
  return { closed: true, observe: true, names, denied: [], within };
}
