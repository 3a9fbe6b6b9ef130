import { labels, launchTypes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { eventId } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';

export interface Binding {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox;
  /** Name of the pool concerned, if any. */
  readonly pool: string | undefined;
  /** From first sight of the claim; of its first Sandbox only. */
  readonly bindMs: number | undefined;
}

/** Lifecycle events of claims: what others may want to hear early. Losing one loses nothing but time. */
export interface ClaimEvents {
  bound(binding: Binding): void;
  /** A detached claim does not claim any more. */
  completed(claim: SandboxClaim): void;
}

export interface ClaimEventDeps {
  readonly bus: Bus;
  readonly nowMs: () => number;
}

export function createClaimEvents({ bus, nowMs }: ClaimEventDeps): ClaimEvents {
  return {
    bound({ claim, sandbox, pool, bindMs }) {
      const { namespace = '', name = '', uid = '' } = claim.metadata;
      const { name: sandboxName = '', uid: sandboxUid = '', labels: marks } = sandbox.metadata;
      const optional = { pool, template: claim.spec.sandboxTemplateRef?.name, bindMs };
      bus.publish({
        type: 'claim.bound',
        // A claim that lost its Sandbox is bound again: the Sandbox tells one binding from the next.
        id: eventId({ uid, type: 'claim.bound', marker: sandboxUid }),
        timeMs: nowMs(),
        data: {
          namespace,
          name,
          uid,
          ...optional,
          sandbox: { name: sandboxName, uid: sandboxUid },
          launchType: marks?.[labels.launchType] === launchTypes.warm ? 'warm' : 'cold',
        },
      });
    },
    completed({ metadata, spec }) {
      const { namespace = '', name = '', uid = '' } = metadata;
      bus.publish({
        type: 'claim.completed',
        id: eventId({ uid, type: 'claim.completed', marker: uid }),
        timeMs: nowMs(),
        data: { namespace, name, uid, pool: spec.warmPoolRef?.name, template: spec.sandboxTemplateRef?.name },
      });
    },
  };
}
