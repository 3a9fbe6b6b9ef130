import type { Part, Registered } from './scene.ts';

export type Step =
  | { readonly kind: 'write'; readonly part: Part; readonly isNew: boolean }
  | { readonly kind: 'delete'; readonly part: Part }
  /** Drops a ConfigMap of the registry. */
  | { readonly kind: 'forget'; readonly registered: Registered }
  /** Has the file server remove the data of a volume, and drops its tombstone. */
  | { readonly kind: 'remove-data'; readonly registered: Registered }
  /** Something that is not ours has a name that is needed. */
  | { readonly kind: 'report-taken'; readonly part: Part };

export interface Plan {
  readonly steps: readonly Step[];
  /** When to look again, although no volume changes, ms from now; undefined: never. */
  readonly afterMs?: number;
}
