import { claimMessages, claimReasons } from '@sandlot/api-types';
import type { Report } from '../plan/report.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

type Names = Pick<ClaimSnapshot, 'claim' | 'namesake' | 'rival'>;

/**
 * Why the claim cannot have a cold Sandbox now; undefined when its name is free. A Sandbox of another owner is never taken
 * over (docs/reference/sandbox-claim.md#name-of-the-sandbox).
 */
export function decideNameReport({ claim, namesake, rival }: Names): Report | undefined {
  const { sandboxName } = claim.spec;
  const holder = namesake ?? rival;
  if (holder === undefined) return undefined;
  const { name = '', deletionTimestamp } = holder.metadata;
  if (sandboxName === undefined) return reportError(claimMessages.notControlled(name, claim.metadata.name ?? ''));
  if (deletionTimestamp !== undefined) return reportError(claimMessages.sandboxNameLeaving(name));
  const message = claimMessages.sandboxNameTaken(name, holder === namesake ? 'Sandbox' : 'SandboxClaim');
  return { reason: claimReasons.sandboxNameTaken, message };
}

function reportError(detail: string): Report {
  return { reason: claimReasons.reconcilerError, message: claimMessages.error(detail) };
}
