import type { AddressSnapshot, PlaneSandbox, SeenClaim } from './plan/plan.ts';

/** What holds for an address; undefined: it is no sandbox's, and everything is refused. */
export function decideAddress({ owner }: AddressSnapshot): PlaneSandbox | undefined {
  if (owner === undefined) return undefined;
  const { sandboxUid, namespace, claim, within } = owner;
  return {
    uid: sandboxUid,
    namespace,
    claim: claim?.name ?? '',
    claimUid: claim?.uid ?? '',
    ...decideLists(claim),
    within,
  };
}

/** Without a wish the sandbox is open: its NetworkPolicy says what it reaches, and it comes to the proxy for no name. */
function decideLists(claim: SeenClaim | undefined): Pick<PlaneSandbox, 'closed' | 'names' | 'denied'> {
  const wish = claim?.wish;
  if (wish === undefined) return { closed: false, names: [], denied: [] };
  return { closed: wish.isClosed, names: wish.isClosed ? wish.names : [], denied: wish.denied };
}
