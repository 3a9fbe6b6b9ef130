import { expect, it } from 'vitest';
import { ClaimHarness } from '../../test/harness.ts';

it('a cold start is an Event of the claim', async () => {
  await using harness = await ClaimHarness.start({ members: 0 });
  harness.startController();
  harness.claim('job');
  await harness.eventually(() => expect(harness.eventReasons()).toContain('job SandboxProvisioned'));
});

it('the end of a claim is an Event of it', async () => {
  await using harness = await ClaimHarness.start({ members: 1 });
  harness.startController();
  const lifecycle = { shutdownTime: '2026-01-01T11:00:00Z', shutdownPolicy: 'Retain' } as const;
  harness.claim('job', { lifecycle });
  await harness.eventually(() => expect(harness.eventReasons()).toContain('job ClaimExpired'));
});
