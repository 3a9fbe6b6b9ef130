import { describe, expect, it } from 'vitest';
import { find, render } from './chart.ts';

const values = { volumes: { storageClass: 'shared', size: '5Gi', perNamespace: 7 } };
const NAME = 'sandlot-volume-controller';
const REGISTRY = 'sandlot-system-volumes';

describe('volumes', () => {
  it('are off without a class: nothing of them is there', async () => {
    expect(JSON.stringify(await render())).not.toMatch(/volume-controller|VOLUMES_|sandlot-system-volumes|sandlot-volumes/);
    expect(JSON.stringify(await render({ ...values, api: { enabled: false } }))).not.toMatch(/volume-controller|VOLUMES_/);
  });

  it('are registered in a namespace of their own, where the API writes and the controller completes', async () => {
    const objects = await render(values);
    expect(find(objects, 'Namespace', REGISTRY).metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' });
    const rules = (name: string) => find(objects, 'Role', `sandlot-${name}-volumes`).rules;
    const one = (verbs: readonly string[]) => [{ apiGroups: [''], resources: ['configmaps'], verbs }];
    expect(rules('api')).toEqual(one(['create', 'delete', 'get', 'list']));
    expect(rules('volume-controller')).toEqual(one(['delete', 'list', 'watch']));
    const api = JSON.stringify(find(objects, 'Deployment', 'sandlot-api').spec);
    expect(api).toContain(`"name":"VOLUMES_NAMESPACE","value":"${REGISTRY}"`);
    expect(api).toContain('"name":"VOLUMES_LIMIT","value":"7"');
  });

  it('take another namespace, and not one that has Secrets', async () => {
    const objects = await render({ volumes: { ...values.volumes, namespace: 'registry' } });
    expect(objects.some(({ kind, metadata }) => kind === 'Namespace' && metadata.name === 'registry')).toBe(false);
    for (const namespace of ['sandlot-system', 'sandlot-system-keys', 'sandlot-system-envs'])
      await expect(render({ volumes: { ...values.volumes, namespace } })).rejects.toThrow('must be a namespace of its own');
  });

  it('give the controller rights to objects of one name, and no way to NATS', async () => {
    const objects = await render(values);
    const { rules = [] } = find(objects, 'ClusterRole', NAME);
    for (const { verbs, resourceNames } of rules)
      expect([verbs, resourceNames]).toEqual(verbs.includes('create') ? [['create'], undefined] : [['delete', 'get', 'patch'], ['sandlot-volumes']]);
    expect(JSON.stringify(find(objects, 'Deployment', NAME).spec)).not.toMatch(/NATS|nats/);
  });

  it('let the API and the controller reach file servers, and these reach nothing', async () => {
    const objects = await render(values);
    expect(find(objects, 'NetworkPolicy', 'sandlot-volume-servers').spec).toMatchObject({
      policyTypes: ['Egress'],
      egress: [{ to: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'app.kubernetes.io/component': 'volume-server' } } }] }],
    });
    const text = JSON.stringify(find(objects, 'Deployment', NAME).spec);
    const peers = /"name":"VOLUME_SERVER_PEERS","value":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? '';
    const parsed = JSON.parse(JSON.parse(`"${peers}"`) as string) as readonly { podSelector: { matchLabels: Record<string, string> } }[];
    expect(parsed.map(({ podSelector }) => podSelector.matchLabels['app.kubernetes.io/component'])).toEqual(['api', 'volume-controller']);
  });
});
