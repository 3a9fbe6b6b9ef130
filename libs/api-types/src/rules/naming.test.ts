import { describe, expect, it } from 'vitest';
import { sandbox } from '../../test/index.ts';
import {
  claimNameLabel,
  effectiveClaimMode,
  effectiveMode,
  nameHashSelector,
  networkPolicyName,
  podNameOf,
  pvcName,
  serviceFQDN,
  warmPoolSelector,
} from './naming.ts';

describe('effectiveMode', () => {
  it.each([
    ['runs when neither spelling is used', {}, 'Running'],
    ['reads replicas 1 as Running', { replicas: 1 }, 'Running'],
    ['reads replicas 0 as Suspended', { replicas: 0 }, 'Suspended'],
    ['reads operatingMode', { operatingMode: 'Suspended' as const }, 'Suspended'],
    ['prefers replicas when both are set', { replicas: 1, operatingMode: 'Suspended' as const }, 'Running'],
  ])('%s', (_name, spec, mode) => {
    expect(effectiveMode(spec)).toBe(mode);
  });
});

describe('effectiveClaimMode', () => {
  it.each([
    ['is bound without batch fields', {}, 'Bound'],
    ['is bound for one replica', { replicas: 1 }, 'Bound'],
    ['is detached from two replicas on', { replicas: 2 }, 'Detached'],
    ['is detached with ttlSecondsAfterCompleted', { ttlSecondsAfterCompleted: 0 }, 'Detached'],
  ])('%s', (_name, spec, mode) => {
    expect(effectiveClaimMode(spec)).toBe(mode);
  });
});

describe('names', () => {
  it('takes the Pod name from the annotation of an adopted Pod, else from the Sandbox', () => {
    expect(podNameOf(sandbox({ name: 'a' }))).toBe('a');
    const annotations = { 'agents.x-k8s.io/pod-name': 'warm-x7' };
    expect(podNameOf(sandbox({ name: 'a', metadata: { annotations } }))).toBe('warm-x7');
    expect(podNameOf(sandbox({ name: 'a', metadata: { annotations: { 'agents.x-k8s.io/pod-name': '' } } }))).toBe('a');
  });

  it('names PVC, Service and NetworkPolicy after their owners', () => {
    expect(pvcName('work', 'notebook')).toBe('work-notebook');
    expect(serviceFQDN(sandbox({ name: 'notebook', namespace: 'team-a' }), 'cluster.local')).toBe(
      'notebook.team-a.svc.cluster.local',
    );
    expect(networkPolicyName('analyst')).toBe('analyst-network-policy');
  });

  it('selects by the hash of the name', () => {
    expect(nameHashSelector('my-sandbox')).toBe('agents.x-k8s.io/sandbox-name-hash=374de8f5');
    expect(warmPoolSelector('python-agent')).toBe('agents.x-k8s.io/warm-pool-sandbox=b713719b');
  });

  it('cuts a claim name that does not fit a label value, and stays within 63 characters', () => {
    expect(claimNameLabel('a'.repeat(63))).toBe('a'.repeat(63));
    expect(claimNameLabel('a'.repeat(64))).toMatch(/^a{54}-[0-9a-f]{8}$/);
  });
});
