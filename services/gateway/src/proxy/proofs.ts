import { sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Clock } from '@sandlot/std';

/** The header of a proof (docs/reference/runtime.md#proof-of-the-gateway). Clients cannot send it: `headers.ts` drops it. */
export const PROOF_HEADER = 'X-Sandlot-Proof';

/** Daemons accept a proof for minutes, so that their clock may differ. Signing takes longer than everything else in a request. */
const RENEW_MS = 30_000;

/** The sandbox that a proof is for: one that receives it cannot use it against another one. */
export interface Recipient {
  /** UID of the Sandbox. */
  readonly uid: string;
  /** The address that the gateway dials. */
  readonly address: string;
}

/** Returns the proof for a request that is sent now; undefined: the gateway has no key. */
export type Prove = () => string | undefined;

/** Proves to daemons in sandboxes that a request comes from the gateway, which has checked the client. */
export class Proofs {
  readonly #signingKey: KeyObject | undefined;
  readonly #clock: Clock;

  /** `signingKey` is an Ed25519 key. */
  constructor(signingKey: KeyObject | undefined, clock: Clock) {
    this.#signingKey = signingKey;
    this.#clock = clock;
  }

  createProver({ uid, address }: Recipient): Prove {
    const key = this.#signingKey;
    if (key === undefined) return () => undefined;
    let proof = '';
    let signedMs = -Infinity;
    return () => {
      const nowMs = Math.round(this.#clock.now());
      // The clock may be set back: the proof must not come from the future.
      if (nowMs < signedMs || nowMs - signedMs >= RENEW_MS) {
        const text = `sandlot-gateway-v1\n${uid}\n${address}\n${nowMs}`;
        proof = `${nowMs};${address};${sign(null, Buffer.from(text), key).toString('base64')}`;
        signedMs = nowMs;
      }
      return proof;
    };
  }
}
