import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { claim } from '@sandlot/api-types/testing';
import { expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

const KEY = { namespace: 'default', name: 'sbx' };
const AT = '2026-01-01T13:00:00Z';

it('the life of a sandbox of the E2B API is published as it shows in its claim and its Sandbox, and nothing of other claims', async () => {
  await using harness = await ClaimHarness.start({ members: 2 });
  const labels = { 'sandlot.dev/sandbox-id': KEY.name };
  harness.api.seed(sandboxClaims, { ...claim(), metadata: { ...KEY, labels } });
  harness.claim('plain');
  harness.startController();
  await harness.eventually(() => expect([harness.isReady('sbx'), harness.isReady('plain')]).toEqual([true, true]));
  const suspended = { type: 'Suspended', status: 'True', reason: 'Suspended', message: '', lastTransitionTime: AT };
  for (const [name] of harness.owned().values()) {
    harness.api.change(sandboxes, { namespace: 'default', name: name ?? '' }, ({ status }) => {
      status?.conditions?.push(suspended as never);
    });
  }
  const listed = (): readonly string[] =>
    harness.bus.published.filter(({ data }) => 'client' in data && data.client !== undefined).map(({ type }) => type);
  await harness.eventually(() => expect(listed()).toEqual(['claim.bound', 'claim.suspended']));
  for (const name of ['sbx', 'plain']) harness.api.remove(sandboxClaims, { namespace: 'default', name });
  await harness.eventually(() => expect(listed()).toEqual(['claim.bound', 'claim.suspended', 'claim.deleted']));
  const types = harness.bus.published.filter(({ type }) => type.startsWith('claim.')).map(({ type }) => type);
  expect(types.filter((type) => type === 'claim.deleted')).toHaveLength(1);
});
