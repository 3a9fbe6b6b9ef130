import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, valueSets } from './chart.ts';
import type { ContainerSpec, Rendered } from './chart.ts';

interface ServiceSpec {
  readonly type?: string;
  readonly externalName?: string;
  readonly ports?: readonly { readonly port: number; readonly targetPort: string }[];
}

const gateway = async (values: object): Promise<readonly Rendered[]> => render({ gateway: values });

function container(objects: readonly Rendered[]): ContainerSpec {
  const [, pod] = podTemplates(objects).find(([name]) => name === 'sandlot-gateway') ?? [];
  const [first] = pod?.spec.containers ?? [];
  if (first === undefined) throw new Error('there is no gateway');
  return first;
}

const variable = (objects: readonly Rendered[], wanted: string): string | undefined =>
  container(objects).env?.find(({ name }) => name === wanted)?.value;

const ports = ({ spec }: Rendered): unknown => (spec as ServiceSpec).ports?.map(({ port, targetPort }) => [port, targetPort]);

describe('the gateway of the chart', () => {
  it('may read sandboxes and claims, and has no other right', async () => {
    const rules = [
      { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['extensions.agents.x-k8s.io'], resources: ['sandboxclaims'], verbs: ['get', 'list', 'watch'] },
    ];
    expect(find(await render(), 'ClusterRole', 'sandlot-gateway').rules).toEqual(rules);
    const scoped = find(await render({ watchNamespace: 'team-a' }), 'Role', 'sandlot-gateway');
    expect([scoped.metadata.namespace, scoped.rules]).toEqual(['team-a', rules]);
    const bound = (await render()).filter(({ kind, metadata }) => /Binding$/.test(kind) && metadata.name.includes('gateway'));
    expect(bound.map(({ metadata }) => metadata.name)).toEqual(['sandlot-gateway']);
  });

  it('is served on port 8080, and on 443 with a certificate, whose Secret is mounted', async () => {
    expect(ports(find(await render(), 'Service', 'sandlot-gateway'))).toEqual([[8080, 'http']]);
    const objects = await gateway({ tls: { secret: 'wildcard' } });
    expect(ports(find(objects, 'Service', 'sandlot-gateway'))).toEqual([
      [8080, 'http'],
      [443, 'https'],
    ]);
    expect(variable(objects, 'TLS_CERT_FILE')).toBe('/etc/sandlot/tls/tls.crt');
  });

  it('has a port without authentication for the router Service alone, and only where it is asked for', async () => {
    const without = await render();
    expect(variable(without, 'ROUTER_PORT')).toBeUndefined();
    expect(without.filter(({ metadata }) => metadata.name === 'sandbox-router-svc')).toEqual([]);
    const objects = await gateway({ agentSandbox: { router: { enabled: true } } });
    expect(ports(find(objects, 'Service', 'sandbox-router-svc'))).toEqual([[8080, 'router']]);
    expect(variable(objects, 'AGENT_SANDBOX_AUTH')).toBe('token');
    expect(JSON.stringify(find(objects, 'NetworkPolicy', 'sandlot-gateway').spec)).not.toContain('router');
  });

  it('lets nobody but named peers to the router port', async () => {
    const allowFrom = [{ podSelector: { matchLabels: { app: 'agent' } } }];
    const objects = await gateway({ agentSandbox: { router: { enabled: true, allowFrom } } });
    const { ingress } = find(objects, 'NetworkPolicy', 'sandlot-gateway').spec as unknown as { ingress: readonly object[] };
    expect(ingress).toContainEqual({ ports: [{ port: 'router', protocol: 'TCP' }], from: allowFrom });
  });

  it('has a name for the router in another namespace', async () => {
    const objects = await render(valueSets['high-availability']);
    const named = objects.filter(({ metadata }) => metadata.name === 'sandbox-router-svc');
    const external = named.find(({ metadata }) => metadata.namespace === 'agent-sandbox-system');
    expect(external?.spec as ServiceSpec).toEqual({
      type: 'ExternalName',
      externalName: 'sandbox-router-svc.sandlot-system.svc.cluster.local',
    });
    expect(named).toHaveLength(2);
  });

  it('never allows addresses that no pod has', async () => {
    for (const values of Object.values(valueSets)) {
      expect(variable(await render(values), 'ALLOW_ADDRESSES')).toBeUndefined();
    }
  });

  it('can be left out', async () => {
    const left = (await gateway({ enabled: false })).filter(({ metadata }) => metadata.name.includes('gateway'));
    expect(left).toEqual([]);
  });

  it.each([
    ['a domain with a scheme', { domains: ['https://sandbox.example.com'] }],
    ['a domain with a wildcard', { domains: ['*.sandbox.example.com'] }],
    ['an API with a path', { apiUrl: 'http://api.example.com/v1' }],
    ['an authentication that is none of ours', { agentSandbox: { auth: 'basic' } }],
    ['another port for what has no authentication', { agentSandbox: { port: 9000 } }],
  ])('refuses %s', async (_, values) => {
    expect((await template({ gateway: values })).code).toBe(1);
  });
});
