import { labels, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import { expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

it('never offers a member that lacks the daemon of its template, although its pool serves stale members', async () => {
  await using harness = await ClaimHarness.start();
  harness.api.seed(sandboxTemplates, template());
  harness.api.seed(sandboxWarmPools, pool());
  const bare = harness.addMember();
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ metadata, spec }) => {
    spec.runtime = { inject: true };
    metadata.generation = (metadata.generation ?? 1) + 1;
  });
  harness.startController();
  await harness.watching();
  harness.claim('job');
  await harness.eventually(() => expect(harness.sandbox('job')?.spec.runtime).toEqual({ inject: true }));
  expect(harness.sandbox(bare)?.metadata.labels).not.toHaveProperty([labels.claimUid]);
});
