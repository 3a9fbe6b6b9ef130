import { expect, it } from 'vitest';
import { changeRelease, testRelease } from '../support/nodes/release.ts';
import { countReady } from '../support/releases/census.ts';
import { readProfile } from '../support/releases/profiles.ts';

const DOUBLE = { 'sandbox-controller': 2, 'warmpool-controller': 2, 'claim-controller': 3, 'snapshot-controller': 2 };

// One machine has no room for the requests of the profile, so a release that is there gets it without its sizes.
it('a release with the profile ha has its replicas, and serves its first claim', async () => {
  await using _release = await changeRelease(await readProfile('ha'));
  const others = { 'key-keeper': 2, streams: 2, api: 3, gateway: 3, egress: 1 };
  expect(await countReady('deployments')).toEqual({ ...DOUBLE, ...others });
  expect(await countReady('statefulsets')).toEqual({ nats: 3, redis: 1 });
  await testRelease();
});
