import { describe, expect, it } from 'vitest';
import { sandbox } from '../../test/index.ts';
import {
  claimNameLabel,
  resolveClaimMode,
  resolveMode,
  nameHashSelector,
  formatNetworkPolicyName,
  getPodName,
  formatDiskName,
  formatKeySecretName,
  formatServiceFQDN,
  formatWarmPoolSelector,
} from './naming.ts';

describe('resolveMode', () => {
  it.each([
    ['runs when neither spelling is used', {}, 'Running'],
    ['reads replicas 1 as Running', { replicas: 1 }, 'Running'],
    ['reads replicas 0 as Suspended', { replicas: 0 }, 'Suspended'],
    ['reads operatingMode', { operatingMode: 'Suspended' as const }, 'Suspended'],
    ['prefers replicas when both are set', { replicas: 1, operatingMode: 'Suspended' as const }, 'Running'],
  ])('%s', (_name, spec, mode) => {
    expect(resolveMode(spec)).toBe(mode);
  });
});

describe('resolveClaimMode', () => {
  it.each([
    ['is bound without batch fields', {}, 'Bound'],
    ['is bound for one replica', { replicas: 1 }, 'Bound'],
    ['is detached from two replicas on', { replicas: 2 }, 'Detached'],
    ['is detached with ttlSecondsAfterCompleted', { ttlSecondsAfterCompleted: 0 }, 'Detached'],
  ])('%s', (_name, spec, mode) => {
    expect(resolveClaimMode(spec)).toBe(mode);
  });
});

describe('names', () => {
  it('takes the Pod name from the annotation of an adopted Pod, else from the Sandbox', () => {
    expect(getPodName(sandbox({ name: 'a' }))).toBe('a');
    const annotations = { 'agents.x-k8s.io/pod-name': 'warm-x7' };
    expect(getPodName(sandbox({ name: 'a', metadata: { annotations } }))).toBe('warm-x7');
    expect(getPodName(sandbox({ name: 'a', metadata: { annotations: { 'agents.x-k8s.io/pod-name': '' } } }))).toBe('a');
  });

  it('names PVC, Service and NetworkPolicy after their owners', () => {
    expect(formatDiskName('work', 'notebook')).toBe('work-notebook');
    expect(formatServiceFQDN(sandbox({ name: 'notebook', namespace: 'team-a' }), 'cluster.local')).toBe(
      'notebook.team-a.svc.cluster.local',
    );
    expect(formatNetworkPolicyName('analyst')).toBe('analyst-network-policy');
  });

  it('names the Secret of a key after the Sandbox and the key, however long the name is', () => {
    expect(formatKeySecretName('notebook', 'hash')).toBe('notebook-runtime-cec577d1');
    expect(formatKeySecretName('notebook', 'other')).not.toBe(formatKeySecretName('notebook', 'hash'));
    const long = formatKeySecretName(`${'a'.repeat(235)}.b`, 'hash');
    expect(long).toMatch(/^a{235}-runtime-[0-9a-f]{8}$/);
    expect(formatKeySecretName('a'.repeat(253), 'hash')).toHaveLength(253);
  });

  it('selects by the hash of the name', () => {
    expect(nameHashSelector('my-sandbox')).toBe('agents.x-k8s.io/sandbox-name-hash=374de8f5');
    expect(formatWarmPoolSelector('python-agent')).toBe('agents.x-k8s.io/warm-pool-sandbox=b713719b');
  });

  it('cuts a claim name that does not fit a label value, and stays within 63 characters', () => {
    expect(claimNameLabel('a'.repeat(63))).toBe('a'.repeat(63));
    expect(claimNameLabel('a'.repeat(64))).toMatch(/^a{54}-[0-9a-f]{8}$/);
  });
});
