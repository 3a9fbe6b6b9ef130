import type { Proof } from '../../model.ts';

/** The test of every operation that answers 501. */
export const NOT_BUILT: Proof = [
  'services/api/src/e2b/unsupported.integration.test.ts',
  'of %s answer 501 with the name of the feature, and change nothing',
];
