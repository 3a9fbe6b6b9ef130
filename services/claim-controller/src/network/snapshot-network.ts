import type { NetworkPolicy, OwnerReference } from '@sandlot/kube';
import type { Report } from '../plan/report.ts';

export type Spec = NonNullable<NetworkPolicy['spec']>;

/** A NetworkPolicy as it is to be. */
export interface WantedPolicy {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    /** Those of a policy that outlives its template. */
    readonly labels?: Record<string, string>;
    readonly ownerReferences: OwnerReference[];
  };
  readonly spec: Spec;
}

/** How far the egress rules of a claim's own are in force. */
export type OwnNetwork =
  /** The template's policy to derive them from does not exist yet, or a foreign policy has their name. */
  | { readonly kind: 'blocked'; readonly report: Report }
  /** These policies differ from what they should be; written in this order. */
  | { readonly kind: 'due'; readonly policies: readonly WantedPolicy[] }
  | { readonly kind: 'inForce' };
