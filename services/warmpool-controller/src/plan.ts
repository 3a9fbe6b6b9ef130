import type { Sandbox, SandboxTemplate, SandboxWarmPoolStatus } from '@sandlot/api-types';

/** One thing a pass over a pool does. `apply` carries steps out in order. */
export type Step =
  /** Make this many members, in growing waves that stop at the first failure. */
  | { readonly kind: 'create'; readonly count: number; readonly template: SandboxTemplate }
  /** Guarded by resourceVersion, so that an adoption in flight wins. */
  | { readonly kind: 'delete'; readonly members: readonly Sandbox[] }
  | { readonly kind: 'writeStatus'; readonly status: SandboxWarmPoolStatus }
  | {
      readonly kind: 'announce';
      readonly event: 'pool.depleted' | 'pool.ready';
      readonly desired: number;
      readonly ready: number;
    };

export type Plan = readonly Step[];
