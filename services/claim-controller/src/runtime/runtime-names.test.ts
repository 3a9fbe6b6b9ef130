import { sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import { expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';
import { Daemons } from '../../test/daemons.ts';

it('a daemon learns the ids of its sandbox only if clients of the E2B API know it by them', async () => {
  await using daemons = await Daemons.start(['127.0.5.1', '127.0.5.2']);
  await using harness = await ClaimHarness.start({ members: 0 });
  harness.runtime = daemons.access(harness.clock);
  daemons.crowd = () => [...harness.owned().values()].flat().map((name) => harness.sandbox(name)?.metadata.uid ?? '');
  harness.api.change(sandboxTemplates, { namespace: 'default', name: 'template' }, ({ spec }) => {
    spec.runtime = { inject: true };
  });
  for (const address of ['127.0.5.1', '127.0.5.2']) harness.addMember({ address });
  harness.startController();
  await harness.watching();
  const metadata = { namespace: 'default', name: 'id1', labels: { 'sandlot.dev/sandbox-id': 'id1' } };
  harness.api.seed(sandboxClaims, { metadata, spec: { warmPoolRef: { name: 'pool' } } });
  harness.claim('job');
  await harness.eventually(() => expect([harness.isReady('id1'), harness.isReady('job')]).toEqual([true, true]));
  const names = new Map(daemons.accepted.map(({ sandboxUid, sandbox }) => [sandboxUid, sandbox]));
  const getNames = (claim: string) =>
    names.get(harness.sandbox(harness.owned().get(claim)?.[0] ?? '')?.metadata.uid ?? '');
  expect([getNames('id1'), getNames('job')]).toEqual([{ id: 'id1', template: 'pool' }, undefined]);
});
