import type { NetworkPolicy, OwnerReference } from '@sandlot/kube';
import type { Report } from '../plan/report.ts';

export type Spec = NonNullable<NetworkPolicy['spec']>;

/** A NetworkPolicy as it is to be. */
export interface WantedPolicy {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly ownerReferences: OwnerReference[];
  };
  readonly spec: Spec;
}

/** How far the egress rules of a claim's own are. */
export type OwnNetwork =
  /** Nothing to derive them from is there yet, or their name is taken. */
  | { readonly kind: 'blocked'; readonly report: Report }
  /** These policies are not as they should be, in this order. */
  | { readonly kind: 'due'; readonly policies: readonly WantedPolicy[] }
  | { readonly kind: 'settled' };
