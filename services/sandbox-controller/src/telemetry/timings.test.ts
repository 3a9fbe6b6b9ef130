import type { Sandbox } from '@sandlot/api-types';
import type { PersistentVolumeClaim } from '@sandlot/kube';
import { createMetrics } from '@sandlot/telemetry';
import { FakeClock } from '@sandlot/std/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSandboxMetrics } from './metrics.ts';
import { NOW_MS, buildDisk, notebook, makePod, published, buildSnapshot } from '../../test/builders.ts';
import { Timings } from './timings.ts';

let clock: FakeClock;
let timings: Timings;
beforeEach(() => {
  clock = new FakeClock(NOW_MS);
  timings = new Timings(clock);
});

const ready = published(buildSnapshot({ ownedPods: [makePod(notebook())] }));
const by = { annotations: { 'sandlot.dev/suspended-by': 'Idle' } };
const asked: Sandbox = {
  ...ready,
  metadata: { ...ready.metadata, ...by },
  spec: { ...ready.spec, operatingMode: 'Suspended' },
};
const suspended = published(buildSnapshot({ sandbox: asked }));
const sleeping = { ...suspended, metadata: asked.metadata };
const resuming: Sandbox = { ...sleeping, metadata: ready.metadata, spec: ready.spec };

describe('the time it takes', () => {
  it('to suspend is from the edit of the spec to the confirmation, by suspender', async () => {
    expect(timings.onSandboxChange(ready, asked)).toBeUndefined();
    await clock.advance(1_500);
    expect(timings.onSandboxChange(asked, sleeping)).toEqual({ what: 'suspend', cause: 'Idle', seconds: 1.5 });
    expect(timings.onSandboxChange(sleeping, sleeping)).toBeUndefined();
  });

  it('to resume is from the edit of the spec to Ready, by suspender', async () => {
    timings.onSandboxChange(sleeping, resuming);
    const pending = published(buildSnapshot({ sandbox: resuming }));
    await clock.advance(250);
    expect(timings.onSandboxChange(resuming, pending)).toBeUndefined();
    await clock.advance(250);
    expect(timings.onSandboxChange(pending, ready)).toEqual({ what: 'resume', cause: 'Idle', seconds: 0.5 });
  });

  it('is not measured for what began before this process', () => {
    expect(timings.onSandboxChange(undefined, asked)).toBeUndefined();
    expect(timings.onSandboxChange(asked, sleeping)).toBeUndefined();
  });

  it('is not measured for a suspension that is withdrawn', () => {
    timings.onSandboxChange(ready, asked);
    timings.onSandboxChange(asked, undefined);
    expect(timings.onSandboxChange(asked, sleeping)).toBeUndefined();
  });

  it('to provision a disk is from its creation to its volume, measured once', async () => {
    const of = (phase: 'Pending' | 'Bound'): PersistentVolumeClaim => ({ ...buildDisk(notebook()), status: { phase } });
    timings.onDiskChange(undefined, of('Pending'));
    await clock.advance(2_000);
    expect(timings.onDiskChange(of('Pending'), of('Pending'))).toBeUndefined();
    expect(timings.onDiskChange(of('Pending'), of('Bound'))).toMatchObject({ what: 'disk', seconds: 2 });
    expect(timings.onDiskChange(of('Bound'), of('Bound'))).toBeUndefined();
    expect(timings.onDiskChange(undefined, of('Bound'))).toBeUndefined();
  });
});

describe('metrics of transitions', () => {
  it.each([
    ['sandlot_sandbox_suspend_seconds_sum{cause="Idle"} 1.5', 'suspend'],
    ['sandlot_sandbox_resume_seconds_sum{cause="Idle"} 1.5', 'resume'],
    ['sandlot_pvc_provision_seconds_sum 1.5', 'disk'],
  ] as const)('have the documented names and labels: %s', async (line, what) => {
    const { registry } = createMetrics({ processMetrics: false });
    createSandboxMetrics(registry, { isCounting: () => true }).observeTiming({ what, cause: 'Idle', seconds: 1.5 });
    expect((await registry.metrics()).split('\n')).toContain(line);
  });
});
