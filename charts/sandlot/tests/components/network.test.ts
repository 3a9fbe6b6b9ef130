import { describe, expect, it } from 'vitest';
import type { Rendered } from '../chart.ts';
import { find, render, template, withHibernation } from '../chart.ts';

interface Rule {
  readonly to?: readonly Readonly<Record<string, unknown>>[];
  readonly ports?: readonly { readonly port: string | number; readonly protocol: string }[];
}

const listEgress = ({ spec }: Rendered): readonly Rule[] => (spec as { readonly egress?: readonly Rule[] }).egress ?? [];

const SANDBOXES = { matchExpressions: [{ key: 'agents.x-k8s.io/sandbox-name-hash', operator: 'Exists' }] };

describe('the NetworkPolicies', () => {
  it('let every component that looks up names ask Pods and NodeLocal DNSCache, and whom the values name', async () => {
    const bucket = { endpoint: 'https://s3.example.com', name: 'b', credentialsSecret: 'c' };
    const to = [{ podSelector: { matchLabels: { 'k8s-app': 'dns' } } }, { ipBlock: { cidr: '10.96.0.10/32' } }];
    const listDns = async (values: object, port: number): Promise<readonly (readonly [string, unknown])[]> =>
      (await render({ ...withHibernation, hibernation: { enabled: true, bucket }, ...values })).flatMap((object) =>
        object.kind === 'NetworkPolicy'
          ? listEgress(object)
              .filter(({ ports = [] }) => ports.some((open) => open.port === port && open.protocol === 'UDP'))
              .map((rule) => [object.metadata.name, rule.to] as const)
          : [],
      );
    const names = ['api', 'controllers', 'gateway', 'key-keeper', 'node', 'streams', 'test'].map((name) => `sandlot-${name}`);
    const usual = await listDns({}, 53);
    expect(usual.map(([name]) => name).sort()).toEqual(names);
    for (const [, peers] of usual) expect(peers).toContainEqual({ ipBlock: { cidr: '169.254.20.10/32' } });
    const own = await listDns({ networkPolicy: { dns: { to, ports: [5353] } } }, 5353);
    expect(own.map(([name]) => name).sort()).toEqual(names);
    for (const [, peers] of own) expect(peers).toEqual(to);
  });

  it('let the gateway reach every port of sandboxes, and of other Pods only those it needs', async () => {
    const egress = listEgress(find(await render(), 'NetworkPolicy', 'sandlot-gateway'));
    const everyPort = egress.filter(({ ports }) => ports === undefined);
    expect(everyPort).toEqual([{ to: [{ namespaceSelector: {}, podSelector: SANDBOXES }] }]);
    const ports = egress.flatMap(({ ports: some = [] }) => some.map(({ port }) => port));
    expect(new Set(ports)).toEqual(new Set([53, 'http', 'nats', 443, 6443]));
  });

  it('let the claim-controller reach the daemons of sandboxes alone', async () => {
    const egress = listEgress(find(await render(), 'NetworkPolicy', 'sandlot-runtime-init'));
    expect(egress).toEqual([
      { to: [{ namespaceSelector: {}, podSelector: SANDBOXES }], ports: [{ port: 49_983, protocol: 'TCP' }] },
    ]);
  });
});

describe('an end of the gateway', () => {
  it('takes load balancers of clouds into account', async () => {
    const spec = find(await render(), 'Deployment', 'sandlot-gateway').spec?.template?.spec;
    expect(spec?.containers[0]?.env).toEqual(
      expect.arrayContaining([
        { name: 'DRAIN_DELAY', value: '15s' },
        { name: 'DRAIN_TIMEOUT', value: '45s' },
      ]),
    );
    expect(spec?.['terminationGracePeriodSeconds']).toBe(75);
  });

  it('is refused if it would be cut off', async () => {
    const gateway = { drainDelay: '1m', drainTimeout: '90s', terminationGracePeriodSeconds: 159 };
    expect((await template({ gateway })).stderr).toContain('drainDelay and drainTimeout need 160 s');
    expect((await template({ gateway: { ...gateway, terminationGracePeriodSeconds: 160 } })).code).toBe(0);
  });
});

describe('the end of the API', () => {
  it('takes load balancers of clouds into account', async () => {
    const spec = find(await render(), 'Deployment', 'sandlot-api').spec?.template?.spec;
    expect(spec).toMatchObject({ containers: [{ lifecycle: { preStop: { sleep: { seconds: 15 } } } }] });
  });

  it('is refused if it would cut a create off', async () => {
    const api = { drainDelaySeconds: 20, terminationGracePeriodSeconds: 79 };
    expect((await template({ api })).stderr).toContain('drainDelaySeconds and a create need 80 s');
    expect((await template({ api: { ...api, terminationGracePeriodSeconds: 80 } })).code).toBe(0);
  });
});

it('gives load balancers time before the API closes its port', async () => {
  const values = { api: { drainDelaySeconds: 20, terminationGracePeriodSeconds: 90 } };
  const spec = find(await render(values), 'Deployment', 'sandlot-api').spec?.template?.spec;
  expect(spec).toMatchObject({
    terminationGracePeriodSeconds: 90,
    containers: [{ lifecycle: { preStop: { sleep: { seconds: 20 } } } }],
  });
});
