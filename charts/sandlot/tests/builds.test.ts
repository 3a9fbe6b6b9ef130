import { describe, expect, it } from 'vitest';
import type { ContainerSpec, Rendered } from './chart.ts';
import { find, profiles, render, template } from './chart.ts';

const NAME = 'sandlot-template-builder';
const RECORD = 'sandlot-build-images';
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount';
const registry = { name: 'registry.example.com:5000/sandlot' };

const renderBuilds = (builds: object = {}, others: object = {}): Promise<readonly Rendered[]> =>
  render({ ...others, builds: { enabled: true, registry, ...builds } });

function findContainer(objects: readonly Rendered[], name: string): ContainerSpec {
  const found = find(objects, 'Deployment', NAME).spec?.template?.spec.containers.find((container) => container.name === name);
  if (found === undefined) throw new Error(`there is no container ${name}`);
  return found;
}

const readEnv = ({ env = [] }: ContainerSpec): Readonly<Record<string, string>> =>
  Object.fromEntries(env.map(({ name, value = '' }) => [name, value]));

interface Policy {
  readonly ingress: readonly object[];
  readonly egress: readonly { readonly to?: readonly object[]; readonly ports?: readonly object[] }[];
}

const findPolicy = (objects: readonly Rendered[]): Policy => find(objects, 'NetworkPolicy', NAME).spec as unknown as Policy;

describe('without builds.enabled', () => {
  it.each(Object.entries({ default: {}, ...profiles }))('the %s values render nothing of builds', async (_, values) => {
    const { stdout } = await template({ ...values, crds: { enabled: false } });
    expect(stdout).not.toMatch(/template-builder|BUILDER_URL|image-plane/);
  });
});

describe('builds are refused', () => {
  it.each<readonly [string, object, string]>([
    ['without a registry', { builds: { enabled: true } }, 'builds.registry.name: builds push images to a registry'],
    ['without the gateway', { builds: { enabled: true, registry }, gateway: { enabled: false } }, 'leave gateway.enabled on'],
    ['without Redis', { builds: { enabled: true, registry }, redis: { enabled: false } }, 'the queue of builds and their logs are in Redis'],
    ['with a URL as registry', { builds: { enabled: true, registry: { name: 'https://registry.example.com' } } }, 'builds/registry/name'],
  ])('%s', async (_, values, message) => {
    const { code, stderr } = await template(values);
    expect(stderr).toContain(message);
    expect(code).not.toBe(0);
  });
});

describe('the Pod of the template-builder', () => {
  it('gives the token of the account to the controller alone, and credentials of the registry to the image plane alone', async () => {
    const objects = await renderBuilds({ registry: { ...registry, credentialsSecret: 'push', caSecret: 'authority' } });
    const spec = find(objects, 'Deployment', NAME).spec?.template?.spec;
    expect(spec).toMatchObject({ automountServiceAccountToken: false, serviceAccountName: NAME });
    const mounts = spec?.containers.map(({ name, volumeMounts = [] }) => [name, volumeMounts.map(({ mountPath }) => mountPath)]);
    expect(mounts).toEqual([
      ['controller', ['/run/sandlot', TOKEN, '/etc/sandlot/nats', '/etc/sandlot/redis', '/etc/sandlot/nats-password']],
      ['image-plane', ['/run/sandlot', '/etc/sandlot/registry', '/etc/sandlot/registry-ca']],
    ]);
    expect(Object.keys(readEnv(findContainer(objects, 'image-plane'))).filter((name) => !name.startsWith('SANDLOT_IMAGE_'))).toEqual([]);
  });

  it('has one registry for both processes, and says to the plane what tenants may name', async () => {
    const objects = await renderBuilds({
      tenantRegistries: ['docker.io', '*.example.com'],
      privateAddresses: ['10.1.0.0/16'],
      plainHTTP: ['registry.example.com:5000'],
      architecture: 'arm64',
    });
    expect(readEnv(findContainer(objects, 'controller'))).toMatchObject({ BUILD_REGISTRY: registry.name, BUILD_NAMESPACE_SECRETS: 'false' });
    expect(readEnv(findContainer(objects, 'image-plane'))).toMatchObject({
      SANDLOT_IMAGE_REGISTRY: registry.name,
      SANDLOT_IMAGE_TENANT_REGISTRIES: 'docker.io,*.example.com',
      SANDLOT_IMAGE_PRIVATE_ADDRESSES: '10.1.0.0/16',
      SANDLOT_IMAGE_PLAIN_HTTP: 'registry.example.com:5000',
      SANDLOT_IMAGE_ARCHITECTURE: 'arm64',
      SANDLOT_IMAGE_FILE_BYTES: '2147483648',
    });
  });

  it('has users of NATS and Redis', async () => {
    const env = readEnv(findContainer(await renderBuilds(), 'controller'));
    expect(env).toMatchObject({ NATS_USER: 'template-builder', REDIS_USER: 'template-builder' });
  });

  it('is found by the API, and only there', async () => {
    const objects = await renderBuilds();
    const [api] = find(objects, 'Deployment', 'sandlot-api').spec?.template?.spec.containers ?? [];
    expect(api && readEnv(api)).toMatchObject({ BUILDER_URL: `http://${NAME}.sandlot-system.svc:8080` });
    const from = [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'api' } } }];
    expect(findPolicy(objects).ingress).toMatchObject([{ from, ports: [{ port: 'builds' }] }]);
  });

  it('reaches the gateway, the port of its registry, and of the internet what is no private address', async () => {
    const [gateway, own, tenants] = findPolicy(await renderBuilds({ privateAddresses: ['10.1.0.0/16'] })).egress;
    expect(gateway).toMatchObject({ to: [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'gateway' } } }], ports: [{ port: 'http' }] });
    expect(own).toEqual({ ports: [{ port: 5000, protocol: 'TCP' }] });
    expect(tenants?.to).toMatchObject([
      { ipBlock: { cidr: '0.0.0.0/0', except: expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16']) as unknown } },
      { ipBlock: { cidr: '::/0' } },
      { ipBlock: { cidr: '10.1.0.0/16' } },
    ]);
  });

  it('reaches its registry at named peers alone, if values name them', async () => {
    const peer = { ipBlock: { cidr: '192.0.2.7/32' } };
    const [, own] = findPolicy(await renderBuilds({ registry: { ...registry, egress: [peer] } })).egress;
    expect(own).toEqual({ ports: [{ port: 5000, protocol: 'TCP' }], to: [peer] });
  });
});

describe('the roles of the template-builder', () => {
  const rulesOf = async (builds: object): Promise<string> =>
    JSON.stringify(find(await renderBuilds(builds), 'ClusterRole', NAME).rules);

  it('have Secrets of tenants only if builds may name them', async () => {
    expect(await rulesOf({})).not.toContain('secrets');
    expect(await rulesOf({ namespaceSecrets: true })).toContain('{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}');
  });

  it('have pools only if templates get them', async () => {
    const create = '"resources":["sandboxwarmpools"],"verbs":["create"]';
    expect(await rulesOf({})).not.toContain(create);
    expect(await rulesOf({ pool: { replicas: 2 } })).toContain(create);
  });

  it('list what may need an image only if images are deleted', async () => {
    const [on, off] = [await rulesOf({}), await rulesOf({ images: { collect: false } })];
    for (const resource of ['sandboxwarmpools', 'sandboxes', 'sandboxsnapshots']) {
      expect(on).toContain(`"resources":["${resource}"],"verbs":["list"]`);
      expect(off).not.toContain(resource);
    }
    expect(on).toContain('"resources":["sandboxclaims"],"verbs":["create","delete","get","list"]');
    expect(off).toContain('"resources":["sandboxclaims"],"verbs":["create","delete","get"]');
  });

  it('may read and change the record of images, and no other ConfigMap', async () => {
    const rendered = await renderBuilds();
    const { rules } = find(rendered, 'Role', RECORD);
    expect(rules).toEqual([{ apiGroups: [''], resources: ['configmaps'], resourceNames: [RECORD], verbs: ['get', 'patch'] }]);
    expect(find(rendered, 'ConfigMap', RECORD)).not.toHaveProperty('data');
  });

  it('may read and delete what the API stored for builds, in the namespace of the API', async () => {
    const { rules, metadata } = find(await renderBuilds(), 'Role', `${NAME}-envs`);
    expect([metadata.namespace, rules]).toEqual([
      'sandlot-system-envs',
      [{ apiGroups: [''], resources: ['secrets'], verbs: ['delete', 'get', 'list'] }],
    ]);
  });
});
