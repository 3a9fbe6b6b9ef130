import { persistentVolumeClaims, persistentVolumes } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  waitForClaimReason,
  waitForFullPool,
  waitForReadyClaim,
  findReadyCondition,
  readSandboxNamed,
  getSandboxName,
} from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const template = (name: string, policy: string): string => `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {name: ${name}}
spec:
  dynamicVolumesPolicy: ${policy}
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: agent, image: busybox, command: [sleep, infinity]}]}}
`;

const pool = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: pool}
spec: {replicas: 1, sandboxTemplateRef: {name: open}}
`;

const disk = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: dataset}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;

const claim = (name: string, volume: string, by = 'warmPoolRef: {name: pool}'): string => `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxClaim
metadata: {name: ${name}}
spec: {${by}, dynamicVolumes: [${volume}]}
`;

describe('dynamicVolumes of a claim', () => {
  let team: Team;
  beforeAll(async () => {
    team = await createTeam('dynamic');
    await team.apply([template('open', 'Allowed'), template('closed', 'Disallowed'), pool, disk].join('---'));
    await waitForFullPool(team, 'pool');
  });
  afterAll(() => team[Symbol.asyncDispose]());

  const serveClaim = async (name: string, volume: string): Promise<string> => {
    await team.apply(claim(name, volume));
    return getSandboxName(await waitForReadyClaim(team, name));
  };

  it('give one Sandbox the files that another wrote, by a cold start', async () => {
    const writer = await serveClaim('writer', '{mountPath: /out, persistentVolumeClaimName: dataset}');
    expect((await readSandboxNamed(team, writer)).metadata.labels?.['agents.x-k8s.io/launch-type']).toBe('cold');
    await team.sh(writer, 'mkdir /out/part && echo precious > /out/part/data && sync');
    const reader = await serveClaim(
      'reader',
      '{mountPath: /in, persistentVolumeClaimName: dataset, subPath: part, readOnly: true}',
    );
    expect(await team.sh(reader, 'cat /in/data')).toBe('precious');
    expect(await team.sh(reader, 'touch /in/other 2>/dev/null || echo refused')).toBe('refused');
  });

  it('are mounted again after a suspension', async () => {
    const key = (mode: string): string => JSON.stringify({ spec: { operatingMode: mode } });
    await team.kubectl('patch', 'sandbox', 'writer', '--type=merge', '-p', key('Suspended'));
    await eventually('the sandbox is suspended', async () => {
      const left = await team.kubectl('get', 'pod', 'writer', '--ignore-not-found', '-o', 'name');
      return left === '' ? true : undefined;
    });
    await team.kubectl('patch', 'sandbox', 'writer', '--type=merge', '-p', key('Running'));
    await eventually('the sandbox is back', async () =>
      findReadyCondition(await readSandboxNamed(team, 'writer'))?.status === 'True' ? true : undefined,
    );
    expect(await team.sh('writer', 'cat /out/part/data')).toBe('precious');
  });

  it('bind a PersistentVolume that is opened to the namespace, with its files', async () => {
    const { spec } = await team.client.get(persistentVolumeClaims, { namespace: team.namespace, name: 'dataset' });
    const name = spec.volumeName ?? '';
    await team.client.mergePatch(persistentVolumes, { name }, { spec: { persistentVolumeReclaimPolicy: 'Retain' } });
    const volume = `{mountPath: /old, persistentVolumeName: ${name}}`;
    await team.apply(claim('heir', volume));
    await waitForClaimReason(team, 'heir', 'DynamicVolumesRejected');
    await team.kubectl('delete', 'sandboxclaim', 'writer', 'reader');
    await team.kubectl('delete', 'persistentvolumeclaim', 'dataset');
    const metadata = { labels: { 'sandlot.dev/claimable-by': team.namespace } };
    // A class of its own: otherwise a disk of any other test may bind to the open volume.
    const open = { claimRef: null, storageClassName: team.namespace };
    await team.client.mergePatch(persistentVolumes, { name }, { metadata, spec: open });
    await waitForReadyClaim(team, 'heir');
    expect(await team.sh('heir', 'cat /old/part/data')).toBe('precious');
    await team.client.mergePatch(persistentVolumes, { name }, { spec: { persistentVolumeReclaimPolicy: 'Delete' } });
  });

  it('are refused by a template that does not allow them, with a message that names the template', async () => {
    const volume = '{mountPath: /data, persistentVolumeClaimName: dataset}';
    await team.apply(claim('refused', volume, 'sandboxTemplateRef: {name: closed}'));
    const { status } = await waitForClaimReason(team, 'refused', 'DynamicVolumesRejected');
    expect(status?.message).toContain('SandboxTemplate "closed" does not allow dynamicVolumes');
  });
});
