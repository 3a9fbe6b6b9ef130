import { describe, expect, it } from 'vitest';
import type { BuiltImage } from '../images/build.ts';
import type { ImageName } from '../images/recipes.ts';
import { buildChartValues } from './values.ts';

const image = (name: ImageName): BuiltImage => ({ name, tag: `t-${name}`, stored: name, sizeBytes: 1, fresh: false });
const images = (
  [
    'sandbox-controller',
    'warmpool-controller',
    'claim-controller',
    'snapshot-controller',
    'node',
    'node-installer',
    'runtime',
    'api',
    'gateway',
    'streams',
    'key-keeper',
    'egress',
    'egress-proxy',
    'template-builder',
    'image-plane',
    'volume-controller',
    'volume-server',
    'webhooks',
    'sandbox-base',
    'code-interpreter',
    'nats',
    'redis',
    'busybox',
  ] as const
).map(image);

describe('buildChartValues', () => {
  it('names each image of this checkout by its own tag, in the registry that has it', () => {
    const values = buildChartValues(images, { registry: { host: 'registry.example.com', path: 'team/sandlot' } });
    expect(values).toEqual({
      image: { registry: 'registry.example.com', repository: 'team/sandlot' },
      sandboxController: { image: { tag: 't-sandbox-controller' } },
      warmpoolController: { image: { tag: 't-warmpool-controller' } },
      claimController: { image: { tag: 't-claim-controller' }, envsFromSecrets: true, persistentVolumes: true },
      runtime: { image: { tag: 't-runtime' } },
      snapshotController: { image: { tag: 't-snapshot-controller' } },
      hibernation: { node: { image: { tag: 't-node' } }, installer: { image: { tag: 't-node-installer' } } },
      keyKeeper: { image: { tag: 't-key-keeper' } },
      egress: { image: { tag: 't-egress' }, proxyImage: { tag: 't-egress-proxy' } },
      builds: { image: { tag: 't-template-builder' }, planeImage: { tag: 't-image-plane' } },
      volumeController: { image: { tag: 't-volume-controller' } },
      volumes: { server: { image: { tag: 't-volume-server' } } },
      webhooks: { image: { tag: 't-webhooks' } },
      api: { image: { tag: 't-api' } },
      gateway: {
        image: { tag: 't-gateway' },
        domains: ['sandlot.test'],
        agentSandbox: { auth: 'any', router: { enabled: true } },
      },
      nats: {
        image: { registry: 'registry.example.com', repository: 'team/sandlot/nats', tag: 't-nats' },
        streams: { image: { tag: 't-streams' } },
      },
      redis: { image: { registry: 'registry.example.com', repository: 'team/sandlot/redis', tag: 't-redis' } },
    });
  });

  it("opens the network policy to the API server's port", () => {
    const { networkPolicy } = buildChartValues(images, {
      registry: { host: 'h', path: '' },
      apiServer: 'https://10.0.0.1:16443',
    });
    expect(networkPolicy).toEqual({ apiServer: { ports: [443, 6443, 16443] } });
  });

  it('takes the sandbox of helm test from the registry of the local cluster, which has no other', () => {
    const registry = { host: 'h', path: '' };
    const { tests } = buildChartValues(images, { registry, apiServer: 'https://h:1' });
    expect(tests).toEqual({ image: { registry: 'h', repository: 'busybox', tag: 't-busybox' } });
    expect(buildChartValues(images, { registry })).not.toHaveProperty('tests');
  });

  it('mounts the daemon as an image on the local cluster only, whose nodes can do so', () => {
    const registry = { host: 'h', path: '' };
    expect(buildChartValues(images, { registry, apiServer: 'https://h:1' }).runtime.delivery).toBe('ImageVolume');
    expect(buildChartValues(images, { registry }).runtime.delivery).toBeUndefined();
  });

  it('lets sandboxes hibernate on the local cluster only, whose node has gVisor with our shim', () => {
    const registry = { host: 'h', path: '' };
    const { hibernation, snapshotController } = buildChartValues(images, { registry, apiServer: 'https://h:1' });
    expect(hibernation).toMatchObject({
      enabled: true,
      node: { image: { tag: 't-node' }, runsc: '/run/sandlot/runsc' },
    });
    expect(snapshotController).toEqual({ image: { tag: 't-snapshot-controller' } });
    expect(buildChartValues(images, { registry }).hibernation).toEqual({
      node: { image: { tag: 't-node' } },
      installer: { image: { tag: 't-node-installer' } },
    });
  });

  it('installs egress by name on the local cluster, with one replica', () => {
    const values = buildChartValues(images, { registry: { host: 'h', path: '' }, apiServer: 'https://h:1' });
    expect(values.egress).toEqual({
      enabled: true,
      replicas: 1,
      resolvers: ['10.96.0.10'],
      credentials: { enabled: true },
      image: { tag: 't-egress' },
      proxyImage: { tag: 't-egress-proxy' },
    });
  });

  it('has templates built in the registry of the local cluster, which Pods reach by another host', () => {
    const local = { registry: { host: 'h', path: '' }, apiServer: 'https://h:1' };
    expect(buildChartValues(images, local).builds.enabled).toBeUndefined();
    expect(buildChartValues(images, { ...local, buildRegistry: '10.244.0.1:15000' }).builds).toMatchObject({
      enabled: true,
      registry: { name: '10.244.0.1:15000/builds' },
      plainHTTP: ['10.244.0.1:15000'],
      baseImages: { 'e2bdev/base': '10.244.0.1:15000/sandlot/sandbox-base:t-sandbox-base' },
      template: { podTemplate: { spec: { runtimeClassName: 'gvisor' } } },
      images: { graceSeconds: 10 },
    });
  });

  it('lets the egress proxy trust servers of this machine', () => {
    const local = { registry: { host: 'h', path: '' }, apiServer: 'https://h:1' };
    const values = buildChartValues(images, { ...local, upstreamCA: 'a certificate' });
    expect(values.extraObjects).toMatchObject([{ kind: 'Secret', stringData: { 'ca.crt': 'a certificate' } }]);
    expect(values.egress.upstreamCA).toEqual({ secret: 'sandlot-egress-upstreams' });
  });

  it('replaces the Pods of the node component when gVisor was built anew', () => {
    const local = { registry: { host: 'h', path: '' }, apiServer: 'https://h:1' };
    const getPodAnnotations = (gvisorBuild: string): object | undefined =>
      buildChartValues(images, { ...local, gvisorBuild }).hibernation.node.podAnnotations;
    expect(getPodAnnotations('a')).not.toEqual(getPodAnnotations('b'));
    expect(getPodAnnotations('a')).toEqual(getPodAnnotations('a'));
  });

  it('lets Prometheus scrape the services and sends every trace to Jaeger', () => {
    const values = buildChartValues(images, {
      registry: { host: 'h', path: '' },
      observers: { scraper: 'watchers', traces: 'http://jaeger.watchers:4318' },
    });
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': 'watchers' } };
    expect(values).toMatchObject({
      networkPolicy: { scrapers: [{ namespaceSelector }] },
      tracing: { endpoint: 'http://jaeger.watchers:4318', sampleRatio: 1 },
    });
  });
});
