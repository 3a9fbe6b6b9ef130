import { z } from 'zod';

/** Reports of activity. */
export const activityReport = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  /** When a client last used the Sandbox, epoch milliseconds of the reporter's clock. */
  atMs: z.number().nonnegative(),
});

/**
 * A client used a Sandbox (docs/reference/sandbox.md#idle-suspend-and-resume). The report may be lost: the reporter repeats it while
 * the use goes on.
 */
export type ActivityReport = z.output<typeof activityReport>;
