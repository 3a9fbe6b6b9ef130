import { z } from 'zod';

/** Reports of spending. */
export const spendingReport = z.object({
  /** Whose allowance it was: the id of an API key. */
  key: z.string(),
  /** Which replica let it through; one hears its own reports, too. */
  by: z.string(),
});

/** A replica let one create of a key through, which counts for all of them. It may be lost: the limit is then that of each. */
export type SpendingReport = z.output<typeof spendingReport>;
