import { labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { eventId } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';

/** Lifecycle events of claims: what others may want to hear early. Losing one loses nothing but time. */
export interface ClaimEvents {
  bound(claim: SandboxClaim, sandbox: Sandbox): void;
}

export interface ClaimEventDeps {
  readonly bus: Bus;
  readonly nowMs: () => number;
}

export function createClaimEvents({ bus, nowMs }: ClaimEventDeps): ClaimEvents {
  return {
    bound(claim, sandbox) {
      const { namespace = '', name = '', uid = '' } = claim.metadata;
      const { warmPoolRef, sandboxTemplateRef } = claim.spec;
      const sandboxUid = sandbox.metadata.uid ?? '';
      bus.publish({
        type: 'claim.bound',
        // A claim that lost its Sandbox is bound again: the Sandbox tells one binding from the next.
        id: eventId({ uid, type: 'claim.bound', marker: sandboxUid }),
        timeMs: nowMs(),
        data: {
          namespace,
          name,
          uid,
          ...(warmPoolRef === undefined ? {} : { pool: warmPoolRef.name }),
          ...(sandboxTemplateRef === undefined ? {} : { template: sandboxTemplateRef.name }),
          sandbox: { name: sandbox.metadata.name ?? '', uid: sandboxUid },
          launchType: sandbox.metadata.labels?.[labels.launchType] === 'warm' ? 'warm' : 'cold',
        },
      });
    },
  };
}
