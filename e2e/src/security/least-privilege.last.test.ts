import { expect, inject, it } from 'vitest';
import { exceptions, judgeRights } from '../../rights/exceptions.ts';
import { listUnusedRights, readRights } from '../../rights/read-grants.ts';
import { formatRight } from '../../rights/rights.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';

it('a service has no right that the whole suite does not need', async () => {
  const rights = await readRights(runKubectlOrFail, inject('releaseNamespace'));
  expect(rights.length).toBeGreaterThan(50);
  // The log begins with the cluster: what ran before on a cluster that was up already counts as well.
  const unused = await listUnusedRights(rights, inject('auditLogPath'));
  const { unneeded, stale } = judgeRights(rights, unused, exceptions);
  expect(stale, 'e2e/rights/exceptions.ts excuses rights that no service has; remove these').toEqual([]);
  const lines = unneeded.map(formatRight).sort().join('\n');
  const leftOut = inject('leftOut');
  if (leftOut.length > 0) {
    console.warn(
      `No judgement of unused rights: this run leaves out ${leftOut.join(', ')}. Not used so far:\n${lines}`,
    );
    return;
  }
  expect(
    lines,
    'rights that nothing used: remove them from the chart, or excuse them in e2e/rights/exceptions.ts',
  ).toBe('');
});
