import { BLOCKED_IPV4, BLOCKED_IPV6 } from '@sandlot/api-types';
import { ensureBinaries } from '@sandlot/local-cluster';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ContainerSpec, Rendered } from './chart.ts';
import { find, profiles, render, template } from './chart.ts';
import { extras, valuesOf, components } from './components/components.ts';
import { makeCredentials, readWanted } from './credentials.ts';

const NAME = 'sandlot-egress';
const INSPECT = `${NAME}-inspect`;
const SANDBOXES = {
  namespaceSelector: {},
  podSelector: { matchExpressions: [{ key: 'agents.x-k8s.io/sandbox-name-hash', operator: 'Exists' }] },
};
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount';
const AUTHORITY = '/etc/sandlot/egress-ca';

interface Port {
  readonly port: number | string;
  readonly targetPort?: number;
  readonly protocol?: string;
}

interface Policy {
  readonly ingress: readonly { readonly from: readonly object[]; readonly ports: readonly Port[] }[];
  readonly egress: readonly { readonly to: readonly { readonly ipBlock?: Block }[]; readonly ports: readonly Port[] }[];
}

interface Block {
  readonly cidr: string;
  readonly except?: readonly string[];
}

const renderEgress = (values: object = {}, others: object = {}): Promise<readonly Rendered[]> =>
  render({ ...others, egress: { enabled: true, ...values } });

function findContainer(objects: readonly Rendered[], name: string, workload = NAME): ContainerSpec {
  const containers = find(objects, 'Deployment', workload).spec?.template?.spec.containers ?? [];
  const found = containers.find((container) => container.name === name);
  if (found === undefined) throw new Error(`${workload} has no container ${name}`);
  return found;
}

const readEnv = ({ env = [] }: ContainerSpec): Readonly<Record<string, string>> =>
  Object.fromEntries(env.map(({ name, value = '' }) => [name, value]));

const findPolicy = (objects: readonly Rendered[]): Policy => find(objects, 'NetworkPolicy', NAME).spec as unknown as Policy;

const listPorts = (objects: readonly Rendered[], service: string): readonly Port[] =>
  (find(objects, 'Service', service).spec as unknown as { readonly ports: readonly Port[] }).ports;

describe('without egress.enabled', () => {
  it.each(Object.entries({ default: {}, ...profiles }))('the %s values render nothing of it', async (_, values) => {
    const { stdout } = await template({ ...values, crds: { enabled: false } });
    expect(stdout).not.toMatch(/sandlot-egress|EGRESS_|component: egress|egress-proxy/);
  });

  it('no other value of it has an effect', async () => {
    const egress = { mode: 'Proxied', resolvers: ['192.0.2.53'], ca: { existingSecret: 'mine' }, ports: { tls: [443, 8443] } };
    expect(await render({ egress })).toEqual(await render());
  });
});

describe('the Pods of egress', () => {
  it('give the token of the account to the rules process, and the authority to the proxy', async () => {
    const objects = await renderEgress();
    const spec = find(objects, 'Deployment', NAME).spec?.template?.spec;
    expect(spec).toMatchObject({ automountServiceAccountToken: false, serviceAccountName: NAME });
    const mounts = spec?.containers.map(({ name, volumeMounts = [] }) => [name, volumeMounts.map(({ mountPath }) => mountPath)]);
    expect(mounts).toEqual([
      ['rules', ['/run/sandlot', TOKEN]],
      ['proxy', ['/run/sandlot', AUTHORITY]],
    ]);
    const socket = { name: 'socket', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } };
    expect(spec?.['volumes']).toContainEqual(socket);
    expect(JSON.stringify(spec?.['volumes'])).toContain('"serviceAccountToken":{"path":"token","expirationSeconds":3607}');
  });

  it.each(['', 'own-authority'])('give the certificate of the authority to the sandbox-controller, and its key to the proxy alone: %j', async (existingSecret) => {
    const objects = await renderEgress({ ca: { existingSecret }, inspect: 'All' });
    const secretName = existingSecret === '' ? `${NAME}-ca` : existingSecret;
    const items = ['ca.crt'].map((key) => ({ key, path: key }));
    const users = objects.filter((object) => JSON.stringify(object.spec?.template?.spec['volumes'] ?? []).includes(`"${secretName}"`));
    expect(users.map(({ metadata }) => metadata.name).toSorted()).toEqual([NAME, 'sandlot-sandbox-controller']);
    const controller = find(objects, 'Deployment', 'sandlot-sandbox-controller').spec?.template?.spec;
    expect(controller?.['volumes']).toContainEqual({ name: 'egress-ca', secret: { secretName, items } });
    expect(findContainer(objects, 'controller', 'sandlot-sandbox-controller').volumeMounts).toContainEqual({ name: 'egress-ca', mountPath: AUTHORITY, readOnly: true });
    expect(JSON.stringify(controller)).not.toContain('tls.key');
  });

  it('meet the restricted Pod Security Standard: low ports are opened by a sysctl of the Pod, not by a capability', async () => {
    const { spec } = find(await renderEgress(), 'Deployment', NAME).spec?.template ?? {};
    expect(spec?.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65_532,
      seccompProfile: { type: 'RuntimeDefault' },
      sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }],
    });
    for (const container of spec?.containers ?? []) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) expect(container).toHaveProperty(probe);
      expect(container.resources).toMatchObject({ requests: {}, limits: { memory: '512Mi' } });
    }
  });

  it('have images of their own, by tag or digest', async () => {
    const images = async (values: object): Promise<readonly (string | undefined)[]> => {
      const objects = await renderEgress(values);
      return ['rules', 'proxy'].map((name) => findContainer(objects, name).image);
    };
    expect(await images({})).toEqual(['ghcr.io/sandlot/egress:0.2.0', 'ghcr.io/sandlot/egress-proxy:0.2.0']);
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(await images({ image: { tag: 'one' }, proxyImage: { digest } })).toEqual([
      'ghcr.io/sandlot/egress:one',
      `ghcr.io/sandlot/egress-proxy@${digest}`,
    ]);
  });

  it('take what values add in both containers', async () => {
    const objects = await render(valuesOf(components, extras));
    for (const name of ['rules', 'proxy']) {
      const container = findContainer(objects, name);
      expect(container.env).toContainEqual(extras.extraEnv[0]);
      expect(container).toMatchObject({ envFrom: extras.extraEnvFrom });
      expect(container.volumeMounts).toContainEqual(extras.extraVolumeMounts[0]);
    }
  });

  it('say to the rules process which Pod it is in, and to the proxy which templates have labels of their own', async () => {
    const objects = await render({ egress: { enabled: true }, metrics: { templateLabels: ['python', 'node'] } });
    const uid = { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } };
    expect(findContainer(objects, 'rules').env).toContainEqual(uid);
    expect(readEnv(findContainer(objects, 'proxy'))).toMatchObject({ SANDLOT_EGRESS_TEMPLATE_LABELS: 'python,node' });
    expect(readEnv(findContainer(await renderEgress(), 'proxy'))).not.toHaveProperty('SANDLOT_EGRESS_TEMPLATE_LABELS');
  });

  it('have a budget and are spread where there are two', async () => {
    const two = await renderEgress();
    expect(find(two, 'PodDisruptionBudget', NAME).spec).toMatchObject({ maxUnavailable: 1 });
    expect(find(two, 'Deployment', NAME).spec?.template?.spec.topologySpreadConstraints).toHaveLength(1);
    const one = await renderEgress({ replicas: 1 });
    expect(one.filter(({ kind, metadata }) => kind === 'PodDisruptionBudget' && metadata.name === NAME)).toEqual([]);
  });

  it.each([
    ['60s', 66, 76],
    ['5m', 306, 316],
  ])('end after their connections have had %s, and hear of changes until then', async (drainTimeout, seconds, grace) => {
    const objects = await renderEgress({ drainTimeout });
    expect(find(objects, 'Deployment', NAME).spec?.template?.spec).toMatchObject({ terminationGracePeriodSeconds: grace });
    expect(readEnv(findContainer(objects, 'proxy'))).toMatchObject({ SANDLOT_EGRESS_DRAIN: drainTimeout, SANDLOT_EGRESS_DRAIN_AFTER: '5s' });
    expect(findContainer(objects, 'rules')).toMatchObject({
      lifecycle: { preStop: { sleep: { seconds } } },
      livenessProbe: { terminationGracePeriodSeconds: 10 },
    });
  });
});

describe('the ports of sandboxes', () => {
  const ports = { http: [80, 8080], tls: [443, 8443] };

  it('are equal on the Services, in the Pod, in its policy and in the settings of proxy and controllers', async () => {
    const objects = await renderEgress({ ports });
    const numbers = [80, 8080, 443, 8443, 3128];
    const service = listPorts(objects, NAME);
    expect(service.map(({ port }) => port)).toEqual([53, 53, ...numbers]);
    expect(service.map(({ protocol = 'TCP' }) => protocol).slice(0, 3)).toEqual(['UDP', 'TCP', 'TCP']);
    const inspected = listPorts(objects, INSPECT);
    expect(inspected.map(({ port }) => port)).toEqual([...ports.http, ...ports.tls]);
    for (const { port, targetPort } of [...service, ...inspected]) expect(targetPort).toBe(port);
    const { ports: opened = [] } = findContainer(objects, 'proxy');
    expect(opened.map(({ containerPort }) => containerPort)).toEqual([53, 53, ...numbers, 9464]);
    expect(findPolicy(objects).ingress[0]?.ports.map(({ port }) => port)).toEqual([53, 53, ...numbers]);
    expect(readEnv(findContainer(objects, 'proxy'))).toMatchObject({ SANDLOT_EGRESS_HTTP_PORTS: '80,8080', SANDLOT_EGRESS_TLS_PORTS: '443,8443' });
    const { selector: podLabels } = find(objects, 'Service', NAME).spec as unknown as { selector: object };
    for (const name of ['warmpool-controller', 'claim-controller']) {
      const { EGRESS_PROXY = '' } = readEnv(findContainer(objects, 'controller', `sandlot-${name}`));
      expect(JSON.parse(EGRESS_PROXY)).toEqual({ podLabels, ports: numbers });
    }
  });

  it('lead to the same Pods from both Services, of which the first may have an address of the values', async () => {
    const objects = await renderEgress({ clusterIP: '10.96.0.53' });
    const [first, second] = [NAME, INSPECT].map((name) => find(objects, 'Service', name).spec as unknown as Readonly<Record<string, unknown>>);
    expect(second?.['selector']).toEqual(first?.['selector']);
    expect([first?.['clusterIP'], second?.['clusterIP']]).toEqual(['10.96.0.53', undefined]);
  });

  it.each([
    [{ ports: { http: [80], tls: [53] } }, 'egress.ports.tls: port 53 is already that of the resolver'],
    [{ ports: { http: [3128] } }, 'egress.ports.http: port 3128 is already that of CONNECT'],
    [{ ports: { http: [443] } }, 'egress.ports.tls: port 443 is already that of egress.ports.http'],
    [{ ports: { http: [8081] } }, 'egress.ports.http: port 8081 is already that of controller.probePort'],
    [{ ports: { tls: [9464] } }, 'egress.ports.tls: port 9464 is already that of metrics of the proxy'],
  ])('cannot be taken twice: %j is refused', async (values, message) => {
    const { code, stderr } = await template({ egress: { enabled: true, ...values } });
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe('the NetworkPolicy of egress', () => {
  it('lets sandboxes of all namespaces in, the API to the reports, scrapers to the metrics of both processes, and no other peer', async () => {
    const scraper = { namespaceSelector: { matchLabels: { team: 'observability' } } };
    const { ingress } = findPolicy(await renderEgress({}, { networkPolicy: { scrapers: [scraper] } }));
    const metrics = ['metrics', 'proxy-metrics'].map((port) => ({ port, protocol: 'TCP' }));
    const api = { podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'api' }) as unknown } };
    expect(ingress.map(({ from }) => from)).toEqual([[SANDBOXES], [api], [scraper]]);
    expect(ingress.slice(1).map(({ ports }) => ports)).toEqual([[{ port: 'reports', protocol: 'TCP' }], metrics]);
    expect(findPolicy(await renderEgress()).ingress).toHaveLength(2);
    expect(findPolicy(await renderEgress({}, { api: { enabled: false } })).ingress).toHaveLength(1);
  });

  it('lets it out to its resolvers, the API server, the daemons of sandboxes and the ports of upstreams alone', async () => {
    const resolvers = ['192.0.2.53', '192.0.2.54:5353', '2001:db8::54', '[2001:db8::53]:5353'];
    const objects = await renderEgress({ resolvers, ports: { http: [80], tls: [443, 8443] } });
    const { egress } = findPolicy(objects);
    const summary = egress.map(({ to, ports }) => [
      to.map(({ ipBlock }) => ipBlock?.cidr ?? 'Pods').join(' '),
      [...new Set(ports.map(({ port }) => port))].join(' '),
    ]);
    expect(summary).toEqual([
      ['Pods 169.254.20.10/32', '53'],
      ['192.0.2.53/32', '53'],
      ['192.0.2.54/32', '5353'],
      ['2001:db8::54/128', '53'],
      ['2001:db8::53/128', '5353'],
      ['0.0.0.0/0 ::/0', '443 6443'],
      ['Pods', '49983'],
      ['0.0.0.0/0 ::/0', '80 443 8443'],
    ]);
    expect(egress[6]?.to).toEqual([SANDBOXES]);
    const servers = '192.0.2.53:53,192.0.2.54:5353,[2001:db8::54]:53,[2001:db8::53]:5353';
    expect(readEnv(findContainer(objects, 'proxy'))['SANDLOT_EGRESS_SERVERS']).toBe(servers);
  });

  it('asks the name servers of sandboxes where it has no resolvers of its own', async () => {
    const objects = await renderEgress({}, { sandboxes: { nameservers: ['192.0.2.1', '2001:db8::1'] } });
    expect(readEnv(findContainer(objects, 'proxy'))['SANDLOT_EGRESS_SERVERS']).toBe('192.0.2.1:53,[2001:db8::1]:53');
    expect(findPolicy(objects).egress[2]?.to).toEqual([{ ipBlock: { cidr: '2001:db8::1/128' } }]);
  });

  it('closes the same blocks as the default rules of sandboxes, and those of the values', async () => {
    const extraBlockedCIDRs = ['34.118.224.0/20', '2600:1900::/28'];
    const objects = await renderEgress({}, { network: { extraBlockedCIDRs } });
    const blocks = findPolicy(objects).egress.at(-1)?.to.map(({ ipBlock }) => ipBlock);
    expect(blocks).toEqual([
      { cidr: '0.0.0.0/0', except: [...BLOCKED_IPV4, '34.118.224.0/20'] },
      { cidr: '::/0', except: [...BLOCKED_IPV6, '2600:1900::/28'] },
    ]);
    expect(readEnv(findContainer(objects, 'rules'))['EXTRA_BLOCKED_CIDRS']).toBe(extraBlockedCIDRs.join(','));
  });
});

it.each(['podMonitor', 'serviceMonitor'])('a %s scrapes both processes', async (kind) => {
  const objects = await renderEgress({}, { metrics: { [kind]: { enabled: true } } });
  const monitor = objects.find((object) => object.kind.toLowerCase() === kind.toLowerCase())?.spec as unknown as Readonly<Record<string, unknown>>;
  const ports = ((monitor['podMetricsEndpoints'] ?? monitor['endpoints']) as readonly { readonly port: string }[]).map(({ port }) => port);
  expect(ports).toEqual(['metrics', 'proxy-metrics']);
  if (kind === 'serviceMonitor') expect(listPorts(objects, 'sandlot-metrics').map(({ port }) => port)).toEqual([9090, 9464]);
  else expect(JSON.stringify(monitor['selector'])).toContain('"egress"');
});

describe('the settings of egress', () => {
  it('for the proxy are flags that its program has', async () => {
    const bin = await ensureBinaries(['sandlot-egress']);
    const { stderr } = spawnSync(bin('sandlot-egress'), ['-h'], { encoding: 'utf8' });
    const flags = [...stderr.matchAll(/^ {2}-([a-z-]+)/gm)].map(([, flag = '']) => flag);
    const variables = flags.map((flag) => `SANDLOT_EGRESS_${flag.toUpperCase().replaceAll('-', '_')}`);
    const objects = await renderEgress({ upstreamCA: { secret: 'upstreams' } });
    const names = (findContainer(objects, 'proxy').env ?? []).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !variables.includes(name))).toEqual([]);
  });

  it('name both Services to the rules process, and the namespaces it serves', async () => {
    const objects = await renderEgress({}, { watchNamespaces: ['team-a', 'team-b'] });
    expect(readEnv(findContainer(objects, 'rules'))).toMatchObject({
      EGRESS_SERVICE: NAME,
      EGRESS_INSPECT_SERVICE: INSPECT,
      WATCH_NAMESPACES: 'team-a,team-b',
    });
  });

  it('pass limits, log and inspection to the proxy', async () => {
    const limits = { connections: 100_000, connectionsPerSecond: 7, dnsPerSecond: 9 };
    const objects = await renderEgress({ limits, log: 'All', inspect: 'All', upstreamCA: { secret: 'upstreams' } });
    const proxy = findContainer(objects, 'proxy');
    expect(readEnv(proxy)).toMatchObject({
      SANDLOT_EGRESS_CONNECTIONS: '100000',
      SANDLOT_EGRESS_CONNECTIONS_PER_SECOND: '7',
      SANDLOT_EGRESS_DNS_PER_SECOND: '9',
      SANDLOT_EGRESS_LOG_MODE: 'All',
      SANDLOT_EGRESS_INSPECT_ALL: 'true',
      SANDLOT_EGRESS_UPSTREAM_CA: '/etc/sandlot/upstream-ca/ca.crt',
    });
    expect(proxy.volumeMounts).toContainEqual({ name: 'upstream-ca', mountPath: '/etc/sandlot/upstream-ca', readOnly: true });
  });

  it.each(['Direct', 'OnDemand', 'Proxied'])('say the mode %s to the controllers that need it, and to the API where it reads what was refused', async (mode) => {
    const objects = await renderEgress({ mode });
    const read = (name: string, container: string): Readonly<Record<string, string>> =>
      Object.fromEntries(Object.entries(readEnv(findContainer(objects, container, `sandlot-${name}`))).filter(([key]) => key.startsWith('EGRESS_')));
    const both = { EGRESS_MODE: mode, EGRESS_PROXY: expect.stringContaining('[80,443,3128]') as string };
    expect(read('warmpool-controller', 'controller')).toEqual(both);
    expect(read('claim-controller', 'controller')).toEqual(both);
    const reports = { EGRESS_REPORTS_HOST: `${NAME}-reports.sandlot-system.svc.cluster.local`, EGRESS_REPORTS_PORT: '9465' };
    expect(read('api', 'api')).toEqual(reports);
    expect(read('sandbox-controller', 'controller')).toEqual({ EGRESS_SERVICE: NAME });
    expect(read('gateway', 'gateway')).toEqual({});
  });
});

describe('the rights of egress', () => {
  const listRules = (objects: readonly Rendered[], kind: string, name: string): readonly string[] =>
    (find(objects, kind, name).rules ?? []).map(({ resources, resourceNames = [], verbs }) =>
      [resources.join(), resourceNames.join(), verbs.join()].filter((part) => part !== '').join(' '),
    );

  it('are to follow what decides over an address, in the namespaces that it serves', async () => {
    const follows = ['pods list,watch', 'sandboxes list,watch', 'sandboxclaims list,watch', 'networkpolicies list,watch', 'events create'];
    expect(listRules(await renderEgress(), 'ClusterRole', NAME)).toEqual(follows);
    const some = await renderEgress({}, { watchNamespaces: ['team-a', 'team-b'] });
    expect(some.filter(({ kind, metadata }) => kind === 'Role' && metadata.name === NAME).map(({ metadata }) => metadata.namespace)).toEqual(['team-a', 'team-b']);
    expect(some.filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === NAME)).toEqual([]);
  });

  it('in the namespace of the release are its Leases and the two Services, for the sandbox-controller the one', async () => {
    const objects = await renderEgress();
    expect(listRules(objects, 'Role', `${NAME}-own`)).toEqual([
      'leases create,list,patch,watch',
      `services ${NAME},${INSPECT} list,watch`,
    ]);
    expect(listRules(objects, 'Role', 'sandlot-sandbox-controller-egress')).toEqual([`services ${NAME} list,watch`]);
    expect(find(objects, 'RoleBinding', 'sandlot-sandbox-controller-egress')).toMatchObject({
      subjects: [{ name: 'sandlot-sandbox-controller', namespace: 'sandlot-system' }],
    });
  });
});

describe('the authority of egress', () => {
  it('is made by the key-keeper, with its key', async () => {
    const made = await makeCredentials(await renderEgress());
    const { 'tls.crt': crt = '', 'tls.key': key, 'ca.crt': ca } = made[`${NAME}-ca`] ?? {};
    expect(new X509Certificate(crt).ca).toBe(true);
    expect(ca).toBe(crt);
    expect(key).toContain('PRIVATE KEY');
  });

  it('may be that of the operator, and then the key-keeper only looks at it', async () => {
    const objects = await renderEgress({ ca: { existingSecret: 'mine' } });
    expect(readWanted(objects).secrets.find(({ name }) => name === 'mine')).toMatchObject({ given: true, entries: { tls: 'authority' } });
    expect(JSON.stringify(find(objects, 'Deployment', NAME).spec)).toContain('"secretName":"mine"');
    expect(await makeCredentials(objects)).not.toHaveProperty('mine');
  });
});

it.each<readonly [string, object, RegExp]>([
  ['an unknown mode', { mode: 'Open' }, /'\/egress\/mode': value must be one of 'Direct', 'OnDemand', 'Proxied'/],
  ['an unknown inspection', { inspect: 'None' }, /'\/egress\/inspect': value must be one of 'Rules', 'All'/],
  ['an unknown log', { log: 'Allowed' }, /'\/egress\/log': value must be one of 'Denied', 'All', 'None'/],
  ['no replica', { replicas: 0 }, /'\/egress\/replicas': minimum: got 0, want 1/],
  ['no port for TLS', { ports: { tls: [] } }, /'\/egress\/ports\/tls': minItems/],
  ['a port twice', { ports: { http: [80, 80] } }, /'\/egress\/ports\/http': items at 0 and 1 are equal/],
  ['a resolver with a name', { resolvers: ['dns.example.com'] }, /'\/egress\/resolvers\/0': .*does not match pattern/],
  ['a block as a resolver', { resolvers: ['192.0.2.0/24'] }, /'\/egress\/resolvers\/0': .*does not match pattern/],
  ['an address of the Service that is a name', { clusterIP: 'None' }, /'\/egress\/clusterIP': .*does not match pattern/],
  ['a duration without a unit', { drainTimeout: '60' }, /'\/egress\/drainTimeout': .*does not match pattern/],
  ['a limit of nothing', { limits: { connections: 0 } }, /'\/egress\/limits\/connections': minimum: got 0, want 1/],
  ['a vault that is no namespace', { credentials: { vaultNamespace: 'a/b' } }, /'\/egress\/credentials\/vaultNamespace': .*does not match pattern/],
  ['an unknown value', { secrets: {} }, /'\/egress': additional properties 'secrets' not allowed/],
])('the schema rejects %s and says where', async (_, values, message) => {
  const { code, stderr } = await template({ egress: { enabled: true, ...values } });
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
});
