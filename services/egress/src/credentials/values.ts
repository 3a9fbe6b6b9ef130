import type { Logger } from '@sandlot/std';
import type { Credential, ValueProblem } from '../plan/plan.ts';
import { hasStoredText, listSecretKeys, resolveCredential } from './resolve.ts';
import type { FindSecret, SecretKey } from './resolve.ts';

/** Hears of a value that came, changed or is gone (undefined). */
export type OnValue = (ref: string, value: string | undefined) => void;

/** Hears why a header has no value; undefined: it has one, or no rule needs it any more. */
export type OnProblem = (credential: Credential, problem: ValueProblem | undefined) => void;

interface ValuesDeps {
  readonly find: FindSecret;
  readonly onValue: OnValue;
  readonly onProblem: OnProblem;
  readonly log: Logger;
}

interface Held {
  readonly credential: Credential;
  /** The addresses whose rules refer to it. */
  readonly addresses: Set<string>;
  keys: readonly string[];
  value: string | undefined;
  problem: string | undefined;
}

/**
 * The values that rules refer to. A value changes when a Secret changes that decides over it: the data plane hears of it at
 * once, so that a rotation or a revocation holds for the next request.
 */
export class Values {
  readonly #deps: ValuesDeps;
  readonly #held = new Map<string, Held>();
  readonly #byAddress = new Map<string, readonly string[]>();
  readonly #bySecret = new Map<string, Set<string>>();

  constructor(deps: ValuesDeps) {
    this.#deps = deps;
  }

  /** Sets the credentials of an address, before its rules hold. */
  add(address: string, credentials: readonly Credential[]): void {
    for (const credential of credentials) this.#hold(address, credential);
    const before = this.#byAddress.get(address) ?? [];
    const refs = credentials.map(({ ref }) => ref);
    this.#byAddress.set(address, [...new Set([...before, ...refs])]);
  }

  /** Forgets what an address no longer refers to, after its rules of now hold. */
  keepOnly(address: string, credentials: readonly Credential[]): void {
    const refs = new Set(credentials.map(({ ref }) => ref));
    for (const ref of this.#byAddress.get(address) ?? []) if (!refs.has(ref)) this.#release(address, ref);
    if (refs.size === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, [...refs]);
  }

  /** A Secret came, changed or is gone. */
  see(key: SecretKey): void {
    for (const ref of [...(this.#bySecret.get(formatKey(key)) ?? [])]) {
      const held = this.#held.get(ref);
      if (held !== undefined) this.#update(ref, held);
    }
  }

  /**
   * Whether everything is seen that the API stored for the rules of the address. It stores that before it writes the rules, and
   * their watches are independent.
   */
  hasStored(address: string): boolean {
    const refs = this.#byAddress.get(address) ?? [];
    return refs.every((ref) => {
      const credential = this.#held.get(ref)?.credential;
      return credential === undefined || hasStoredText(credential, this.#deps.find);
    });
  }

  /** All that there are. */
  *list(): Iterable<readonly [string, string]> {
    for (const [ref, { value }] of this.#held) if (value !== undefined) yield [ref, value];
  }

  #hold(address: string, credential: Credential): void {
    const known = this.#held.get(credential.ref);
    const addresses = known?.addresses ?? new Set<string>();
    addresses.add(address);
    const held: Held = known
      ? { ...known, credential }
      : { credential, addresses, keys: [], value: undefined, problem: undefined };
    this.#held.set(credential.ref, held);
    this.#update(credential.ref, held);
  }

  #release(address: string, ref: string): void {
    const held = this.#held.get(ref);
    held?.addresses.delete(address);
    if (held === undefined || held.addresses.size > 0) return;
    this.#follow(ref, held, []);
    this.#held.delete(ref);
    if (held.problem !== undefined) this.#deps.onProblem(held.credential, undefined);
    if (held.value !== undefined) this.#deps.onValue(ref, undefined);
  }

  #update(ref: string, held: Held): void {
    const { find, onValue } = this.#deps;
    this.#follow(ref, held, listSecretKeys(held.credential, find).map(formatKey));
    const resolved = resolveCredential(held.credential, find);
    const value = 'value' in resolved ? resolved.value : undefined;
    this.#report(held, 'problem' in resolved ? resolved : undefined);
    if (value === held.value) return;
    held.value = value;
    onValue(ref, value);
  }

  #report(held: Held, found: ValueProblem | undefined): void {
    if (found?.problem === held.problem) return;
    held.problem = found?.problem;
    this.#deps.onProblem(held.credential, found);
    if (found === undefined) return;
    const { namespace, claim, host, header } = held.credential;
    const { problem } = found;
    this.#deps.log.warn({ namespace, claim, host, header, problem }, 'a header of a rule has no value: requests fail');
  }

  #follow(ref: string, held: Held, keys: readonly string[]): void {
    for (const key of held.keys) {
      const refs = this.#bySecret.get(key);
      refs?.delete(ref);
      if (refs?.size === 0) this.#bySecret.delete(key);
    }
    for (const key of keys) {
      const refs = this.#bySecret.get(key) ?? new Set<string>();
      this.#bySecret.set(key, refs.add(ref));
    }
    held.keys = keys;
  }
}

function formatKey({ place, namespace, name }: SecretKey): string {
  return `${place}/${namespace}/${name}`;
}
