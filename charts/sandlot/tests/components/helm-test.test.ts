import { describe, expect, it } from 'vitest';
import { find, render } from '../chart.ts';

const isTest = ({ metadata }: { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } }): boolean =>
  metadata.annotations?.['helm.sh/hook'] === 'test';

describe('helm test', () => {
  it('brings all that it needs, and nothing of it stays', async () => {
    const objects = (await render()).filter(({ metadata }) => metadata.name === 'sandlot-test');
    const kinds = ['ConfigMap', 'NetworkPolicy', 'Pod', 'Role', 'RoleBinding', 'ServiceAccount'];
    expect(objects.map(({ kind }) => kind).sort()).toEqual(kinds);
    expect(objects.every(isTest)).toBe(true);
    for (const { metadata } of objects)
      expect(metadata.annotations?.['helm.sh/hook-delete-policy']).toBe('before-hook-creation,hook-succeeded');
  });

  it('makes the claim in the namespace of the values, with an image of the mirror', async () => {
    const tests = { namespace: 'team-a', timeoutSeconds: 30, image: { repository: 'library/debian', tag: '13' } };
    const objects = await render({ tests, global: { imageRegistry: 'mirror.example.com' } });
    expect(find(objects, 'Role', 'sandlot-test').metadata.namespace).toBe('team-a');
    expect(find(objects, 'Pod', 'sandlot-test').spec).toMatchObject({
      containers: [
        {
          image: 'mirror.example.com/sandlot/claim-controller:0.2.0',
          env: expect.arrayContaining([
            { name: 'NAMESPACE', value: 'team-a' },
            { name: 'IMAGE', value: 'mirror.example.com/library/debian:13' },
            { name: 'TIMEOUT_SECONDS', value: '30' },
            { name: 'GATEWAY_URL', value: 'http://sandlot-gateway.sandlot-system.svc:8080' },
          ]) as unknown,
        },
      ],
    });
  });

  it('makes the claim in the first namespace that the release serves', async () => {
    const objects = await render({ watchNamespaces: ['team-b', 'team-a'] });
    expect(find(objects, 'Role', 'sandlot-test').metadata.namespace).toBe('team-b');
    const elsewhere = render({ watchNamespaces: ['team-b', 'team-a'], tests: { namespace: 'team-c' } });
    await expect(elsewhere).rejects.toThrow('does not serve team-c');
  });

  it('passes the gateway though that admits few', async () => {
    const few = { ipBlock: { cidr: '192.0.2.0/24' } };
    const policy = find(await render({ gateway: { allowFrom: [few] } }), 'NetworkPolicy', 'sandlot-gateway');
    const own = { podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'test' }) as unknown } };
    expect(policy.spec).toMatchObject({ ingress: [{ from: [few, own] }] });
  });

  it.each([
    ['the gateway takes no Kubernetes tokens', { agentSandbox: { auth: 'apikey' } }],
    ['there is no gateway', { enabled: false }],
  ])('runs no command if %s', async (_, gateway) => {
    expect(JSON.stringify(find(await render({ gateway }), 'Pod', 'sandlot-test').spec)).not.toContain('GATEWAY_URL');
  });

  it('is left out by the values', async () => {
    expect((await render({ tests: { enabled: false } })).filter(isTest)).toEqual([]);
  });
});
