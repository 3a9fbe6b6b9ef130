import { createHmac } from 'node:crypto';
import { secret } from '@sandlot/config';
import type { Secret } from '@sandlot/config';

/** Settings of a process that knows by what sandboxes prove to the egress proxy who they are, from the Secret of the proxy. */
export const egressProofSettings = {
  /** `proof`: base64 of 32 random bytes; absent: the installation has no header rules. */
  EGRESS_PROOF_KEY: secret().optional(),
  /** `proof.other`, while the key is rotated: the next key, and after the switch the one of before, as `NUMBER:BASE64`. */
  EGRESS_PROOF_KEY_OTHER: secret().optional(),
};

interface Settings {
  readonly EGRESS_PROOF_KEY?: Secret | undefined;
  readonly EGRESS_PROOF_KEY_OTHER?: Secret | undefined;
}

/** The sandbox that proves itself, and the claim that has it. Another claim of the same Sandbox has another proof. */
export interface ProofHolder {
  readonly sandboxUid: string;
  readonly claimUid: string;
}

const KEY_BYTES = 32;

/** The keys from which proofs come: one, and two while the key is rotated. */
export class EgressProofs {
  readonly #keys: readonly [Uint8Array, ...Uint8Array[]];

  /** Throws when a key is malformed, or too short to be safe. */
  constructor(key: string, other?: string) {
    const rest = other === undefined ? [] : [parseKey(other.replace(/^\d+:/u, ''))];
    this.#keys = [parseKey(key), ...rest];
  }

  /** The proof that the daemon of the sandbox gets, in base64. */
  derive(holder: ProofHolder): string {
    return derive(this.#keys[0], holder);
  }

  /** All that the daemon may have got, in base64. */
  deriveAll(holder: ProofHolder): readonly string[] {
    return this.#keys.map((key) => derive(key, holder));
  }
}

/** Undefined: the installation has no header rules. Throws as {@link EgressProofs}. */
export function readEgressProofs({ EGRESS_PROOF_KEY, EGRESS_PROOF_KEY_OTHER }: Settings): EgressProofs | undefined {
  if (EGRESS_PROOF_KEY === undefined) return undefined;
  return new EgressProofs(EGRESS_PROOF_KEY.reveal(), EGRESS_PROOF_KEY_OTHER?.reveal());
}

function derive(key: Uint8Array, { sandboxUid, claimUid }: ProofHolder): string {
  return createHmac('sha256', key).update(`sandlot-egress-v1\n${sandboxUid}\n${claimUid}`).digest('base64');
}

function parseKey(text: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length < KEY_BYTES) throw new Error(`the key of proofs must be base64 of at least ${KEY_BYTES} bytes`);
  return key;
}
