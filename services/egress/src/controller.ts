import type { Change } from '@sandlot/kube';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { parseNetworkPolicyName } from '@sandlot/api-types';
import type { NetworkPolicy, Pod } from '@sandlot/kube';
import type { EgressProofs } from '@sandlot/tenancy';
import type { Values } from './credentials/values.ts';
import { decideAddress } from './decide.ts';
import { observeAddress } from './observe.ts';
import type { Stores } from './observe.ts';
import type { Decided, HeldAddress, PlaneSandbox } from './plan/plan.ts';
import { BY_OWNER, BY_TEMPLATE, listAddresses } from './wiring/informers.ts';
import type { Informers } from './wiring/informers.ts';

/** Hears what holds for an address, whenever that changes. */
export type OnAddress = (address: string, sandbox: PlaneSandbox | undefined) => void;

export interface AddressesDeps {
  readonly stores: Stores;
  readonly onAddress: OnAddress;
  readonly values: Pick<Values, 'add' | 'keepOnly'>;
  /** Undefined: the installation has no header rules, and no sandbox gets a credential. */
  readonly proofs?: Pick<EgressProofs, 'deriveAll'> | undefined;
}

/**
 * Keeps what holds for each address, from the caches. Every change of an object decides anew over the addresses that it may
 * concern: a decision takes microseconds, and the same result says nothing.
 */
export class Addresses {
  readonly #deps: AddressesDeps;
  readonly #stores: Stores;
  readonly #held = new Map<string, HeldAddress & { readonly said: string }>();

  constructor(deps: AddressesDeps) {
    this.#deps = deps;
    this.#stores = deps.stores;
  }

  /** Follows the informers until the result is disposed of. */
  follow({ pods, sandboxes, claims, policies }: Informers): Disposable {
    const stack = new DisposableStack();
    const of =
      <T>(list: (object: T) => Iterable<string>) =>
      ({ old, next }: Change<T>): void => {
        const addresses = new Set([old, next].flatMap((object) => (object === undefined ? [] : [...list(object)])));
        for (const address of addresses) this.#decide(address);
      };
    stack.use(pods.onChange(of<Pod>(listAddresses)));
    stack.use(sandboxes.onChange(of<Sandbox>((sandbox) => this.#listOf(sandbox))));
    stack.use(claims.onChange(of<SandboxClaim>((claim) => this.#listOfClaim(claim))));
    stack.use(policies.onChange(of<NetworkPolicy>((policy) => this.#listOfPolicy(policy))));
    return stack;
  }

  /** What holds for every address that is a sandbox's. */
  *list(): Iterable<readonly [string, PlaneSandbox]> {
    for (const [address, { sandbox }] of this.#held) yield [address, sandbox];
  }

  /** What holds for the addresses of the claim's sandboxes. */
  listHeld(claim: SandboxClaim): readonly HeldAddress[] {
    const held = [...this.#listOfClaim(claim)].flatMap((address) => this.#held.get(address) ?? []);
    // Another sandbox may have the address of a Pod that has ended.
    return held.filter(({ sandbox }) => sandbox.claimUid === claim.metadata.uid);
  }

  #decide(address: string): void {
    const decided = decideAddress(observeAddress(this.#stores, address));
    const { values } = this.#deps;
    const credentials = decided?.credentials ?? [];
    // The values come before the rule that needs them, and go after it.
    values.add(address, credentials);
    this.#say(address, decided);
    values.keepOnly(address, credentials);
  }

  #say(address: string, decided: Decided | undefined): void {
    const before = this.#held.get(address);
    if (decided === undefined) {
      if (this.#held.delete(address)) this.#deps.onAddress(address, undefined);
      return;
    }
    const sandbox = { ...decided.sandbox, proofs: this.#deriveProofs(decided) };
    const said = JSON.stringify(sandbox);
    this.#held.set(address, { address, sandbox, text: decided.text, said });
    if (said !== before?.said) this.#deps.onAddress(address, sandbox);
  }

  #deriveProofs({ sandbox: { uid: sandboxUid, claimUid, rules } }: Decided): readonly string[] {
    if (claimUid === '' || rules.length === 0) return [];
    return this.#deps.proofs?.deriveAll({ sandboxUid, claimUid }) ?? [];
  }

  *#listOf({ metadata: { uid = '' } }: Sandbox): Iterable<string> {
    for (const pod of this.#stores.pods.listByIndex(BY_OWNER, uid)) yield* listAddresses(pod);
  }

  *#listOfClaim({ metadata: { uid = '' } }: SandboxClaim): Iterable<string> {
    for (const sandbox of this.#stores.sandboxes.listByIndex(BY_OWNER, uid)) yield* this.#listOf(sandbox);
  }

  *#listOfPolicy({ metadata: { namespace = '', name = '' } }: NetworkPolicy): Iterable<string> {
    const template = parseNetworkPolicyName(name);
    if (template === undefined) return;
    const key = `${namespace}/${template}`;
    for (const sandbox of this.#stores.sandboxes.listByIndex(BY_TEMPLATE, key)) yield* this.#listOf(sandbox);
  }
}
