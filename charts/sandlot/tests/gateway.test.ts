import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, valueSets } from './chart.ts';
import type { ContainerSpec, Rendered } from './chart.ts';

interface ServiceSpec {
  readonly type?: string;
  readonly externalName?: string;
  readonly ports?: readonly { readonly port: number; readonly targetPort: string }[];
}

const renderGateway = async (values: object): Promise<readonly Rendered[]> => render({ gateway: values });

function findContainer(objects: readonly Rendered[]): ContainerSpec {
  const [, pod] = podTemplates(objects).find(([name]) => name === 'sandlot-gateway') ?? [];
  const [first] = pod?.spec.containers ?? [];
  if (first === undefined) throw new Error('there is no gateway');
  return first;
}

const findVariable = (objects: readonly Rendered[], wanted: string): string | undefined =>
  findContainer(objects).env?.find(({ name }) => name === wanted)?.value;

const getPorts = ({ spec }: Rendered): unknown => (spec as ServiceSpec).ports?.map(({ port, targetPort }) => [port, targetPort]);

describe('the gateway of the chart', () => {
  it('may read Sandboxes and claims, and has no other rights', async () => {
    const rules = [
      { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['extensions.agents.x-k8s.io'], resources: ['sandboxclaims'], verbs: ['get', 'list', 'watch'] },
    ];
    expect(find(await render(), 'ClusterRole', 'sandlot-gateway').rules).toEqual(rules);
    const bound = (await render()).filter(({ kind, metadata }) => /Binding$/.test(kind) && metadata.name.includes('gateway'));
    expect(bound.map(({ metadata }) => metadata.name)).toEqual(['sandlot-gateway']);
  });

  it("exposes the metrics of agent-sandbox's router only if the values say so", async () => {
    expect(findVariable(await render(), 'AGENT_SANDBOX_METRICS')).toBeUndefined();
    const asked = await renderGateway({ agentSandbox: { metrics: true } });
    expect(findVariable(asked, 'AGENT_SANDBOX_METRICS')).toBe('true');
  });

  it('fits into its memory limit with all connections, unfinished heads and waiting requests that its values allow', async () => {
    const variable = (name: string, objects: readonly Rendered[]): number => Number(findVariable(objects, name));
    const objects = await render();
    const KIBIBYTE = 1_024;
    // Measured by `npm run bench:gateway`; the process at rest with 10,000 sandboxes is the first.
    const worst =
      140 * KIBIBYTE * KIBIBYTE +
      variable('MAX_CONNECTIONS', objects) * 18 * KIBIBYTE +
      variable('MAX_UNFINISHED_HEADS', objects) * 70 * KIBIBYTE +
      variable('HOLD_MAX_BYTES', objects);
    const [, mebibytes] = /^(\d+)Mi$/.exec(findContainer(objects).resources?.limits?.memory ?? '') ?? [];
    expect(worst).toBeLessThan(Number(mebibytes) * KIBIBYTE * KIBIBYTE);
  });

  it('listens on port 8080, and on 443 if the values name a Secret with a certificate', async () => {
    expect(getPorts(find(await render(), 'Service', 'sandlot-gateway'))).toEqual([[8080, 'http']]);
    const objects = await renderGateway({ tls: { secret: 'wildcard' } });
    expect(getPorts(find(objects, 'Service', 'sandlot-gateway'))).toEqual([
      [8080, 'http'],
      [443, 'https'],
    ]);
    expect(findVariable(objects, 'TLS_CERT_FILE')).toBe('/etc/sandlot/tls/tls.crt');
  });

  it('has a port without authentication only if the values enable the router, and only in the router Service', async () => {
    const without = await render();
    expect(findVariable(without, 'ROUTER_PORT')).toBeUndefined();
    expect(without.filter(({ metadata }) => metadata.name === 'sandbox-router-svc')).toEqual([]);
    const objects = await renderGateway({ agentSandbox: { router: { enabled: true } } });
    expect(getPorts(find(objects, 'Service', 'sandbox-router-svc'))).toEqual([[8080, 'router']]);
    expect(findVariable(objects, 'AGENT_SANDBOX_AUTH')).toBe('token');
    expect(JSON.stringify(find(objects, 'NetworkPolicy', 'sandlot-gateway').spec)).not.toContain('router');
  });

  it('opens the router port only to the peers in its values', async () => {
    const allowFrom = [{ podSelector: { matchLabels: { app: 'agent' } } }];
    const objects = await renderGateway({ agentSandbox: { router: { enabled: true, allowFrom } } });
    const { ingress } = find(objects, 'NetworkPolicy', 'sandlot-gateway').spec as unknown as { ingress: readonly object[] };
    expect(ingress).toContainEqual({ ports: [{ port: 'router', protocol: 'TCP' }], from: allowFrom });
  });

  it('adds an ExternalName Service for the router in another namespace', async () => {
    const objects = await render(valueSets['high-availability']);
    const named = objects.filter(({ metadata }) => metadata.name === 'sandbox-router-svc');
    const external = named.find(({ metadata }) => metadata.namespace === 'agent-sandbox-system');
    expect(external?.spec as ServiceSpec).toEqual({
      type: 'ExternalName',
      externalName: 'sandbox-router-svc.sandlot-system.svc.cluster.local',
    });
    expect(named).toHaveLength(2);
  });

  it('never sets ALLOW_ADDRESSES, which is only for tests and development', async () => {
    for (const values of Object.values(valueSets)) {
      const containers = podTemplates(await render(values)).flatMap(([, { spec }]) => spec.containers);
      const names = containers.flatMap(({ env = [] }) => env.map(({ name }) => name));
      expect(names).not.toContain('ALLOW_ADDRESSES');
    }
  });

  it('can be disabled', async () => {
    const left = (await renderGateway({ enabled: false })).filter(({ metadata }) => metadata.name.includes('gateway'));
    expect(left).toEqual([]);
  });

  it.each([
    ['a domain with a scheme', { domains: ['https://sandbox.example.com'] }],
    ['a domain with a wildcard', { domains: ['*.sandbox.example.com'] }],
    ['an API with a path', { apiUrl: 'http://api.example.com/v1' }],
    ['an unknown authentication mode', { agentSandbox: { auth: 'basic' } }],
    ['a port for the router', { agentSandbox: { port: 9000 } }],
  ])('rejects %s', async (_, values) => {
    expect((await template({ gateway: values })).code).toBe(1);
  });
});
