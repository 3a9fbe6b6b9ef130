import { z } from 'zod';

/** Reports of activity. */
export const activityReport = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  /** When somebody last used the Sandbox, epoch milliseconds of the reporter's clock. */
  atMs: z.number().nonnegative(),
});

/** Somebody used a Sandbox (API contract, idle). It may be lost: whoever reports repeats it while the use goes on. */
export type ActivityReport = z.output<typeof activityReport>;
