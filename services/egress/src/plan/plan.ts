import type { HeaderRule, HeaderSource, OpenBlock, TemplateEgress } from '@sandlot/api-types';

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
  readonly rules: readonly PlaneRule[];
  /** In base64, what the daemon of the sandbox may prove itself by. None: no request of it gets a credential. */
  readonly proofs: readonly string[];
}

/** A {@link HeaderRule} in the words of the data plane. */
export interface PlaneRule {
  readonly host: string;
  readonly methods: readonly string[];
  readonly paths: readonly string[];
  readonly headers: readonly PlaneHeader[];
}

export interface PlaneHeader {
  readonly name: string;
  /** A text that is no secret; with `ref` the text into which the value goes in place of `{}`. */
  readonly value: string;
  /** Names a value that the data plane has, or is empty. */
  readonly ref: string;
}

/** A value that the data plane gets apart from the rule that it is for. */
export interface Credential {
  readonly ref: string;
  readonly namespace: string;
  readonly claim: string;
  readonly claimUid: string;
  readonly host: string;
  readonly header: string;
  readonly source: HeaderSource;
}

/** Why a header has no value. Neither text has a value. */
export interface ValueProblem {
  readonly problem: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** What this replica says of an address that a sandbox has. */
export interface HeldAddress {
  readonly address: string;
  readonly sandbox: PlaneSandbox;
  /** The annotation of its claim by which that was decided. */
  readonly text: string | undefined;
}

/** What was decided over an address. */
export interface Decided {
  readonly sandbox: Omit<PlaneSandbox, 'proofs'>;
  /** The annotation of its claim by which it was; undefined if there is none, or an object is not seen that decides as well. */
  readonly text: string | undefined;
  readonly credentials: readonly Credential[];
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
  /** False while the policy of its template is not seen, until which it reaches nothing. */
  readonly hasPolicy: boolean;
}

/** A template all of whose sandboxes reach names alone. */
export type ProxiedTemplate = Extract<TemplateEgress, { readonly mode: 'Proxied' }>;

/** The claim of a sandbox. */
export interface SeenClaim {
  readonly name: string;
  readonly uid: string;
  /** The annotation, as it is written. */
  readonly text?: string | undefined;
  readonly wish?: SeenWish | undefined;
}

/** How a claim narrows its template. */
export interface SeenWish {
  readonly isClosed: boolean;
  readonly names: readonly string[];
  readonly denied: readonly string[];
  /** The claim refuses nothing, and wants to know what its names would have refused. */
  readonly isObserved: boolean;
  readonly rules: readonly HeaderRule[];
}
