import { z } from 'zod';

/** Reports of spending. */
export const spendingReport = z.object({
  /** The API key whose allowance was spent. */
  key: z.string(),
  /** The replica that let the create through; it receives its own reports, too. */
  by: z.string(),
});

/** One create of a key that a replica let through and all replicas count. If reports are lost, each replica limits alone. */
export type SpendingReport = z.output<typeof spendingReport>;
