import type { Sandbox, SandboxTemplate, SandboxWarmPoolStatus } from '@sandlot/api-types';

/** Something others may want to hear about a pool. */
export interface Announcement {
  readonly event: 'pool.depleted' | 'pool.ready';
  readonly desired: number;
  readonly ready: number;
}

/** One thing a pass over a pool does. `apply` carries steps out in order. */
export type Step =
  | ({ readonly kind: 'announce' } & Announcement)
  /** Make this many members, in growing waves that stop at the first failure. */
  | { readonly kind: 'create'; readonly count: number; readonly template: SandboxTemplate }
  /** Guarded by resourceVersion, so that an adoption in flight wins. */
  | { readonly kind: 'delete'; readonly members: readonly Sandbox[] }
  /** An urgent one is not held back for the sake of few writes. */
  | { readonly kind: 'writeStatus'; readonly status: SandboxWarmPoolStatus; readonly urgent: boolean }
  | { readonly kind: 'wait'; readonly ms: number; readonly reason: string };

export type Plan = readonly Step[];
