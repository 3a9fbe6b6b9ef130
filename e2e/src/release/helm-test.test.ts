import { it } from 'vitest';
import { testRelease } from '../support/nodes/release.ts';

it('helm test makes a claim, runs a command in its sandbox, and leaves nothing', async () => {
  await testRelease();
});
