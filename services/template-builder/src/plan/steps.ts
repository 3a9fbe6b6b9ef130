import type { SandboxTemplateBuildStatus } from '@sandlot/api-types';

/** What to do. The steps of a plan are taken in order, and the first failure ends the pass. */
export type Step =
  | { readonly kind: 'status'; readonly status: SandboxTemplateBuildStatus }
  /** Has the queue run the build, one with a lower `priority` first. A build that is in the queue already is not added again. */
  | { readonly kind: 'enqueue'; readonly priority: number }
  /** Takes the build out of the queue, and ends it where it runs. */
  | { readonly kind: 'cancel' }
  | { readonly kind: 'delete' };

export interface Plan {
  readonly steps: readonly Step[];
  /** When the next pass is due even if nothing changes; epoch milliseconds. */
  readonly nextMs?: number | undefined;
}
