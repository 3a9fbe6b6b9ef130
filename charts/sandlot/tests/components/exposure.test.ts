import { describe, expect, it } from 'vitest';
import { find, render, template } from '../chart.ts';
import type { Rendered } from '../chart.ts';

const ours = ['gateway', 'api'] as const;

async function renderOne(kind: string, name: string, values: object): Promise<Rendered> {
  return find(await render(values), kind, `sandlot-${name}`);
}

describe.each(ours)('the Service of the %s', (name) => {
  it('has the fields of the values', async () => {
    const fields = {
      type: 'LoadBalancer',
      loadBalancerClass: 'example.com/nlb',
      loadBalancerSourceRanges: ['192.0.2.0/24'],
      externalTrafficPolicy: 'Local',
      sessionAffinity: 'ClientIP',
      ipFamilyPolicy: 'RequireDualStack',
      ipFamilies: ['IPv6', 'IPv4'],
    };
    const annotations = { 'example.com/internal': 'true' };
    const service = { ...fields, annotations, nodePort: 30_080 };
    const { spec, metadata } = await renderOne('Service', name, { [name]: { service } });
    expect(spec).toMatchObject({ ...fields, ports: [{ name: 'http', port: 8080, nodePort: 30_080 }] });
    expect(metadata).toMatchObject({ annotations });
  });

  it('leaves out what its type has not, and what the cluster chooses', async () => {
    const service = { loadBalancerClass: 'x', loadBalancerSourceRanges: ['192.0.2.0/24'], externalTrafficPolicy: 'Local' };
    const { spec } = await renderOne('Service', name, { [name]: { service } });
    expect(Object.keys(spec ?? {}).sort()).toEqual(['ports', 'selector', 'type']);
  });
});

it('opens the TLS port of the gateway on the nodes, too', async () => {
  const gateway = { tls: { secret: 'wildcard' }, service: { type: 'NodePort', httpsNodePort: 30_443 } };
  const { spec } = await renderOne('Service', 'gateway', { gateway });
  expect(spec).toMatchObject({ ports: [{ name: 'http' }, { name: 'https', nodePort: 30_443 }] });
});

it('never publishes the admin port of the API', async () => {
  const { code, stderr } = await template({ api: { admin: { allowFrom: [{ podSelector: {} }] }, service: { type: 'LoadBalancer' } } });
  expect(code).toBe(1);
  expect(stderr).toContain('would publish the admin port');
});

describe.each(ours)('the Ingress of the %s', (name) => {
  const backend = { service: { name: `sandlot-${name}`, port: { name: 'http' } } };

  it('has the class, hosts and certificates of the values', async () => {
    const tls = [{ secretName: 'certificate', hosts: ['door.example.com'] }];
    const ingress = { enabled: true, className: 'nginx', annotations: { 'example.com/body': '0' }, hosts: ['door.example.com'], tls };
    expect(await renderOne('Ingress', name, { [name]: { ingress } })).toMatchObject({
      metadata: { annotations: ingress.annotations },
      spec: {
        ingressClassName: 'nginx',
        rules: [{ host: 'door.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
        tls,
      },
    });
  });

  it('serves every host if the values name none', async () => {
    const { spec } = await renderOne('Ingress', name, { [name]: { ingress: { enabled: true } } });
    expect(spec).toEqual({ rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] });
  });
});

describe.each(ours)('the HTTPRoute of the %s', (name) => {
  it('leads from the gateways of the values to the Service, without a limit of time', async () => {
    const parentRefs = [{ name: 'public', namespace: 'gateways' }];
    const httpRoute = { enabled: true, parentRefs, hostnames: ['door.example.com'] };
    expect((await renderOne('HTTPRoute', name, { [name]: { httpRoute } })).spec).toEqual({
      parentRefs,
      hostnames: ['door.example.com'],
      rules: [{ backendRefs: [{ name: `sandlot-${name}`, port: 8080 }], timeouts: { request: '0s' } }],
    });
  });

  it('needs a gateway', async () => {
    const { code, stderr } = await template({ [name]: { httpRoute: { enabled: true } } });
    expect(code).toBe(1);
    expect(stderr).toContain(`'/${name}/httpRoute/parentRefs'`);
  });
});

it('takes the hosts of the gateway from its domains', async () => {
  const gateway = {
    domains: ['sandbox.example.com'],
    ingress: { enabled: true },
    httpRoute: { enabled: true, parentRefs: [{ name: 'public' }], filters: [{ type: 'RequestHeaderModifier' }] },
  };
  const objects = await render({ gateway });
  expect(find(objects, 'Ingress', 'sandlot-gateway').spec).toMatchObject({ rules: [{ host: '*.sandbox.example.com' }] });
  expect(find(objects, 'HTTPRoute', 'sandlot-gateway').spec).toMatchObject({
    hostnames: ['*.sandbox.example.com'],
    rules: [{ filters: [{ type: 'RequestHeaderModifier' }] }],
  });
});

it('exposes nothing by default', async () => {
  const objects = await render();
  expect(objects.filter(({ kind }) => /^(Ingress|HTTPRoute|HorizontalPodAutoscaler)$/.test(kind))).toEqual([]);
  const types = objects.filter(({ kind }) => kind === 'Service').map(({ spec }) => (spec as { readonly type?: string }).type);
  expect(types.filter((type) => type !== undefined && type !== 'ClusterIP')).toEqual([]);
});

describe.each(ours)('autoscaling of the %s', (name) => {
  it('replaces the number of replicas, and brings a budget and spread', async () => {
    const metrics = [{ type: 'Pods', pods: { metric: { name: 'x' }, target: { type: 'AverageValue', averageValue: '1' } } }];
    const autoscaling = { enabled: true, minReplicas: 3, maxReplicas: 30, targetCPU: 60, targetMemory: 80, metrics };
    const objects = await render({ [name]: { autoscaling } });
    const utilization = (averageUtilization: number): object => ({ target: { type: 'Utilization', averageUtilization } });
    expect(find(objects, 'HorizontalPodAutoscaler', `sandlot-${name}`)).toMatchObject({
      apiVersion: 'autoscaling/v2',
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: `sandlot-${name}` },
        minReplicas: 3,
        maxReplicas: 30,
        metrics: [
          { resource: { name: 'cpu', ...utilization(60) } },
          { resource: { name: 'memory', ...utilization(80) } },
          ...metrics,
        ],
        behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
      },
    });
    const { spec } = find(objects, 'Deployment', `sandlot-${name}`);
    expect(spec).not.toHaveProperty('replicas');
    expect(spec?.template?.spec.topologySpreadConstraints).toHaveLength(1);
    expect(find(objects, 'PodDisruptionBudget', `sandlot-${name}`).spec).toMatchObject({ maxUnavailable: 1 });
  });

  it('refuses fewer replicas at most than at least', async () => {
    const { stderr } = await template({ [name]: { autoscaling: { enabled: true, minReplicas: 5, maxReplicas: 4 } } });
    expect(stderr).toContain(`${name}.autoscaling: minReplicas is greater`);
  });
});
