import { eventReasons, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { getApiVersion } from '@sandlot/kube/objects';
import type { EventRecorder, Informer } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Credential, ValueProblem } from '../plan/plan.ts';
import type { Refused } from '../plane/protocol.ts';
import { formatRefusedHost } from '../refusals/refusals.ts';
import { findClaim } from '../wiring/informers.ts';
import { Quota } from './quota.ts';

export interface ClaimEventsDeps {
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly claims: Informer<SandboxClaim>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Reasons of connections that were let through: a list is observed, or they came to nothing all the same. */
const LET_THROUGH: ReadonlySet<string> = new Set(['observed', 'upstream', 'client_gone', 'handshake_refused']);

/**
 * Says as Kubernetes Events of claims what their sandboxes were refused, and which headers of rules have no value. Each replica says
 * what it sees. Nothing waits for an Event.
 */
export class ClaimEvents implements Disposable {
  readonly #deps: ClaimEventsDeps;
  readonly #denied: Quota;
  readonly #missing: Quota;
  readonly #following: Disposable;

  constructor(deps: ClaimEventsDeps) {
    this.#deps = deps;
    this.#denied = new Quota(deps.clock);
    this.#missing = new Quota(deps.clock);
    this.#following = deps.claims.onChange(({ old, next }) => {
      const uid = old?.metadata.uid;
      if (uid !== undefined && uid !== next?.metadata.uid) this.#forget(uid);
    });
  }

  /** Says that a sandbox of the claim was refused a destination. */
  deny({ claimUid, protocol, host, port, reason }: Refused): void {
    const claim = findClaim(this.#deps.claims.store, claimUid);
    if (claim === undefined || LET_THROUGH.has(reason)) return;
    const destination = `${formatRefusedHost(host)}${port === 0 ? '' : `:${port}`} (${protocol})`;
    const words = {
      this: `The egress proxy refused ${destination}: ${reason}`,
      more: 'The egress proxy refused more destinations than are shown in ten minutes',
    };
    const found = this.#denied.take(claimUid, destination);
    if (found === undefined) return;
    const message = `${words[found]}; see all with: npx sandlot egress ${claim.metadata.name ?? ''}`;
    this.#record(claim, eventReasons.egressDenied, message);
  }

  /** Says that requests fail because a header of a rule has no value. */
  miss({ claimUid, host, header }: Credential, { problem, remedy }: ValueProblem): void {
    const claim = findClaim(this.#deps.claims.store, claimUid);
    if (claim === undefined) return;
    const words = {
      this: `Requests to ${host} fail, because header ${header} has no value: ${problem}; ${remedy}`,
      more: 'Requests fail, because more headers have no value than are shown in ten minutes; look at the Secrets of all rules',
    };
    const found = this.#missing.take(claimUid, `${host} ${header}`);
    if (found !== undefined) this.#record(claim, eventReasons.egressCredentialMissing, words[found]);
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
  }

  #forget(claimUid: string): void {
    this.#denied.forget(claimUid);
    this.#missing.forget(claimUid);
  }

  #record({ metadata: { namespace, name, uid } }: SandboxClaim, reason: string, message: string): void {
    // A hostile sandbox must not use up what people need more: missing credentials.
    const isRoutine = reason === eventReasons.egressDenied;
    const { kind } = sandboxClaims;
    const object = { apiVersion: getApiVersion(sandboxClaims), kind, metadata: { namespace, name, uid } };
    this.#deps.recorder.record({ object, type: 'Warning', reason, message, isRoutine });
  }
}
