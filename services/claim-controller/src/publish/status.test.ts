import { buildMergePatch } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { boundStatus, buildExpiredStatus, reportStatus } from './status.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const EARLIER = '2026-01-01T08:00:00Z';
const theClaim = claim({ metadata: { generation: 7 } });

type Status = 'True' | 'False';
const condition = (...[type, status, reason, message = '']: readonly [string, Status, string, string?]) => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 3,
  lastTransitionTime: EARLIER,
});
const ready: Sandbox = sandbox({
  name: 'pool-x',
  status: { conditions: [condition('Ready', 'True', 'DependenciesReady', 'Pod is Ready')], podIPs: ['10.0.0.9'] },
});

describe('a bound claim', () => {
  it('shows a ready Sandbox with its condition, for the generation of the claim', () => {
    expect(boundStatus(theClaim, ready, NOW)).toEqual({
      conditions: [{ ...condition('Ready', 'True', 'DependenciesReady', 'Pod is Ready'), observedGeneration: 7 }],
      sandbox: { name: 'pool-x', podIPs: ['10.0.0.9'] },
      observedGeneration: 7,
      mode: 'Bound',
      phase: 'Completed',
      completionTime: '2026-01-01T12:00:00Z',
      claimedReplicas: 1,
      readyReplicas: 1,
    });
  });

  it('shows a Sandbox that has no Ready condition yet as not ready', () => {
    const status = boundStatus(theClaim, sandbox({ name: 'claim' }), NOW);
    expect(status).toMatchObject({ phase: 'Claiming', sandbox: { name: 'claim' }, claimedReplicas: 1 });
    expect(status.conditions?.[0]).toMatchObject({
      status: 'False',
      reason: 'SandboxNotReady',
      message: 'Sandbox is not ready',
    });
  });

  it('reports a Sandbox that expired independently of the claim', () => {
    const expired = sandbox({
      status: { conditions: [condition('Ready', 'False', 'SandboxExpired', 'Sandbox has expired')] },
    });
    expect(boundStatus(theClaim, expired, NOW).conditions?.[0]).toMatchObject({
      reason: 'SandboxExpired',
      message: 'Underlying Sandbox resource has expired independently of the Claim.',
    });
  });

  it('follows Finished in both directions', () => {
    const finished = sandbox({
      status: { conditions: [condition('Finished', 'True', 'PodSucceeded', 'Pod completed successfully')] },
    });
    const with_ = boundStatus(theClaim, finished, NOW);
    expect(with_.conditions?.map(({ type }) => type)).toEqual(['Finished', 'Ready']);
    expect(boundStatus(after(with_), ready, NOW).conditions?.map(({ type }) => type)).toEqual(['Ready']);
  });

  it('keeps the time of its first readiness and of unchanged conditions', () => {
    const status = boundStatus(after(boundStatus(theClaim, ready, NOW)), ready, NOW + 60_000);
    expect(status.completionTime).toBe('2026-01-01T12:00:00Z');
    expect(buildMergePatch(boundStatus(theClaim, ready, NOW), status)).toBeUndefined();
  });

  it('drops the addresses of an earlier Sandbox when it shows a new one without any', () => {
    const patch = buildMergePatch(
      boundStatus(theClaim, ready, NOW),
      boundStatus(theClaim, sandbox({ name: 'new' }), NOW),
    );
    expect(patch?.['sandbox']).toEqual({ name: 'new', podIPs: null });
  });
});

describe('a claim without a Sandbox', () => {
  it('reports why, and that it has no Sandbox', () => {
    expect(reportStatus(theClaim, { reason: 'WarmPoolNotFound', message: 'm' }, NOW)).toEqual({
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'WarmPoolNotFound',
          message: 'm',
          observedGeneration: 7,
          lastTransitionTime: '2026-01-01T12:00:00Z',
        },
      ],
      observedGeneration: 7,
      mode: 'Bound',
      phase: 'Pending',
      message: 'm',
      claimedReplicas: 0,
    });
  });

  it('has failed when only a change of the claim can help', () => {
    expect(reportStatus(theClaim, { reason: 'InvalidMetadata', message: 'm', final: true }, NOW).phase).toBe('Failed');
  });

  it('keeps its Sandbox through errors, and drops it when it waits for another', () => {
    const bound = after(boundStatus(theClaim, ready, NOW));
    expect(reportStatus(bound, { reason: 'TemplateNotFound', message: 'm' }, NOW).sandbox?.name).toBe('pool-x');
    expect(reportStatus(bound, { reason: 'WaitingForStock', message: 'm' }, NOW).sandbox).toBeUndefined();
  });
});

describe('an expired claim', () => {
  it('keeps Finished, and names its Sandbox until that is gone', () => {
    const finished = sandbox({ name: 's', status: { conditions: [condition('Finished', 'True', 'PodFailed')] } });
    const bound = after(boundStatus(theClaim, finished, NOW));
    const first = buildExpiredStatus(bound, { message: 'm', sandboxGone: false }, NOW);
    expect(first).toMatchObject({ phase: 'Expired', sandbox: { name: 's' } });
    expect(first.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      'Finished PodFailed',
      'Ready ClaimExpired',
    ]);
    expect(buildExpiredStatus(after(first), { message: 'm', sandboxGone: true }, NOW).sandbox).toBeUndefined();
  });
});

function after(status: SandboxClaim['status']): SandboxClaim {
  return { ...theClaim, status };
}
