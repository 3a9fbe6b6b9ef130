import type { OpenBlock, TemplateEgress } from '@sandlot/api-types';

/** The addresses of the proxy to which the resolver leads sandboxes: for names without a rule, and for those with one. */
export interface ProxyAddresses {
  readonly passed: readonly string[];
  readonly inspected: readonly string[];
}

/** What holds for one address, in the words of the data plane. */
export interface PlaneSandbox {
  readonly uid: string;
  readonly namespace: string;
  /** Name of its template; empty if it has none. A label of metrics. */
  readonly template: string;
  /** Name and UID of the claim that has the sandbox; empty if none has. */
  readonly claim: string;
  readonly claimUid: string;
  /** Names are refused unless `names` has them. */
  readonly closed: boolean;
  /** Names that are not in `names` are let through and reported. */
  readonly observe: boolean;
  readonly names: readonly string[];
  /** What the template lets its sandboxes reach. */
  readonly within: readonly OpenBlock[];
  /** What the claim takes away from that, except for names of the list. */
  readonly denied: readonly string[];
}

/** Everything that decides over one address. */
export interface AddressSnapshot {
  /** Whose the only Pod is that has the address and runs; undefined if there is none, or more. */
  readonly owner?: SeenOwner | undefined;
}

/** The sandbox that has an address. */
export interface SeenOwner {
  readonly sandboxUid: string;
  readonly namespace: string;
  readonly template?: string | undefined;
  readonly claim?: SeenClaim | undefined;
  /** How its template uses the proxy; undefined if it is Direct, or the sandbox has none. */
  readonly egress?: TemplateEgress | undefined;
  /** What the policy of its template lets through; empty if that is not there. */
  readonly within: readonly OpenBlock[];
}

/** A template all of whose sandboxes reach names alone. */
export type ProxiedTemplate = Extract<TemplateEgress, { readonly mode: 'Proxied' }>;

/** The claim of a sandbox. */
export interface SeenClaim {
  readonly name: string;
  readonly uid: string;
  readonly wish?: SeenWish | undefined;
}

/** How a claim narrows its template. */
export interface SeenWish {
  readonly isClosed: boolean;
  readonly names: readonly string[];
  readonly denied: readonly string[];
  /** The claim refuses nothing, and wants to know what its names would have refused. */
  readonly isObserved: boolean;
}
