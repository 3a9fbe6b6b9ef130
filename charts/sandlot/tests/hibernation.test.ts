import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, withHibernation } from './chart.ts';
import type { PodTemplate, Rendered } from './chart.ts';
import { makeCredentials } from './credentials.ts';

const NODE = 'sandlot-node';
const CONTROLLER = 'sandlot-snapshot-controller';

const listNames = (objects: readonly Rendered[]): string[] =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

function getPod(objects: readonly Rendered[], name: string): PodTemplate {
  const [, pod] = podTemplates(objects).find(([workload]) => workload === name) ?? [];
  if (pod === undefined) throw new Error(`no workload ${name}`);
  return pod;
}

interface HostVolumes {
  readonly volumes?: readonly { readonly name: string; readonly hostPath?: { readonly path: string; readonly type: string } }[];
}

describe('hibernation', () => {
  it('is off by default: only roles of people, policies for users and the records of events know of snapshots', async () => {
    const objects = (await render()).filter(({ kind }) => kind !== 'CustomResourceDefinition');
    const traces = /snapshot|hibernat|"hostPath":|sandlot-node|component":"node"/i;
    expect(listNames(objects.filter((object) => traces.test(JSON.stringify(object)))).sort()).toEqual([
      ...['admin', 'edit', 'view'].map((name) => `ClusterRole sandlot-${name}`),
      'ConfigMap sandlot-nats',
      'ValidatingAdmissionPolicy sandlot-reserved-keys',
      'ValidatingAdmissionPolicy sandlot-sandboxes',
    ]);
    const config = find(objects, 'ConfigMap', 'sandlot-nats').data?.['nats.conf'] ?? '';
    expect(config.split('\n').filter((line) => /snapshot|hibernat/i.test(line)).map((line) => line.trim())).toEqual(
      ['INFO', 'CREATE', 'UPDATE'].map((request) => `"$JS.API.STREAM.${request}.KV_SANDLOT_SNAPSHOTS"`),
    );
  });

  it('adds these objects, and takes none away', async () => {
    const before = new Set(listNames(await render({ runtime: withHibernation.runtime })));
    const after = listNames(await render(withHibernation));
    expect(after.filter((name) => !before.has(name)).sort()).toEqual([
      `ClusterRole ${CONTROLLER}`,
      `ClusterRoleBinding ${CONTROLLER}`,
      `DaemonSet ${NODE}`,
      `Deployment ${CONTROLLER}`,
      `NetworkPolicy ${NODE}`,
      `NetworkPolicy ${CONTROLLER}-node`,
      `Role ${CONTROLLER}-leader`,
      `RoleBinding ${CONTROLLER}-leader`,
      'SandboxSnapshotClass node',
      `ServiceAccount ${NODE}`,
      `ServiceAccount ${CONTROLLER}`,
      ...['budgets', 'nodes', 'saved-disks', 'snapshots', 'starts'].flatMap((name) => [
        `ValidatingAdmissionPolicy sandlot-controllers-${name}`,
        `ValidatingAdmissionPolicyBinding sandlot-controllers-${name}`,
      ]),
    ].sort());
    expect([...before].filter((name) => !after.includes(name))).toEqual([]);
  });

  it.each<readonly [string, object, string]>([
    ['the daemon of sandboxes comes by an init container', { hibernation: { enabled: true } }, 'set runtime.delivery=ImageVolume'],
    ['the release serves single namespaces', { ...withHibernation, watchNamespaces: ['team-a'] }, 'leave out one of the two'],
    ['only one of the two certificates is given', { ...withHibernation, hibernation: { enabled: true, tls: { nodeSecret: 'mine' } } }, 'name both Secrets, or none'],
  ])('is refused with a message if %s', async (_, values, message) => {
    const { code, stderr } = await template(values);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  it('is announced to the services that make snapshots alone', async () => {
    const env = (objects: readonly Rendered[]): object =>
      Object.fromEntries(
        podTemplates(objects).flatMap(([name, { spec }]) =>
          spec.containers.flatMap((container) =>
            (container.env ?? []).filter((one) => one.name === 'SNAPSHOTS_ENABLED').map(({ value }) => [name, value]),
          ),
        ),
      );
    const makers = ['sandlot-api', 'sandlot-sandbox-controller', 'sandlot-warmpool-controller'];
    expect(env(await render(withHibernation))).toEqual(Object.fromEntries(makers.map((name) => [name, 'true'])));
    expect(env(await render())).toEqual({});
  });

  it.each([
    ['without it', {}, 'true'],
    ['with it', withHibernation, 'false'],
    ['with it, where the operator allows it', { ...withHibernation, api: { pauseMemoryFallback: true } }, 'true'],
    ['without it, where the operator refuses it', { api: { pauseMemoryFallback: false } }, 'false'],
  ])('decides whether a pause may lose memory: %s', async (_, values, expected) => {
    const { spec } = getPod(await render(values), 'sandlot-api');
    const env = Object.fromEntries((spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
    expect(env['PAUSE_MEMORY_FALLBACK']).toBe(expected);
  });

  it('lets the API save and delete, and change nothing of what was saved', async () => {
    const { rules = [] } = find(await render(withHibernation), 'ClusterRole', 'sandlot-api');
    const about = rules.filter(({ resources }) => resources.includes('sandboxsnapshots'));
    expect(about.map(({ verbs }) => verbs)).toEqual([['create', 'delete', 'get', 'list', 'watch']]);
    // The snapshot-controller makes the templates that start from a snapshot.
    const templates = rules.filter(({ resources }) => resources.includes('sandboxtemplates'));
    expect(templates.map(({ verbs }) => verbs)).toEqual([['get', 'list', 'watch']]);
  });

  it('gives the snapshot-controller what it needs to find the node components and to prove itself', async () => {
    const { spec } = getPod(await render(withHibernation), CONTROLLER);
    const env = Object.fromEntries((spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
    expect(env).toMatchObject({
      SNAPSHOT_AGENT_NAMESPACE: 'sandlot-system',
      SNAPSHOT_AGENT_PORT: '8443',
      SNAPSHOT_AGENT_SELECTOR:
        'app.kubernetes.io/component=node,app.kubernetes.io/instance=sandlot,app.kubernetes.io/name=sandlot',
      SNAPSHOT_AGENT_TLS_DIR: '/etc/sandlot/snapshot-agent',
    });
    const labels = getPod(await render(withHibernation), NODE).metadata.labels ?? {};
    for (const pair of env['SNAPSHOT_AGENT_SELECTOR']?.split(',') ?? []) {
      const [key = '', value] = pair.split('=');
      expect(labels[key]).toBe(value);
    }
    expect(JSON.stringify(spec)).toContain('"mountPath":"/etc/sandlot/snapshot-agent","readOnly":true');
  });
});

describe('the default class of snapshots', () => {
  const readClass = async (values: object): Promise<Rendered> => find(await render(values), 'SandboxSnapshotClass', 'node');

  it('keeps failed saves for ten minutes and others until they are used, unless the values say otherwise', async () => {
    expect(await readClass(withHibernation)).toMatchObject({
      metadata: { annotations: { 'sandlot.dev/is-default-class': 'true' } },
      spec: { retention: { failedSeconds: 600 } },
    });
    expect((await readClass(withHibernation)).spec).toEqual({ retention: { failedSeconds: 600 } });
    const retention = { failedSeconds: 0, readySeconds: 604_800 };
    expect((await readClass({ ...withHibernation, hibernation: { enabled: true, retention } })).spec).toEqual({ retention });
  });

  it('is a hook of Helm, an ordinary object or nothing, as the values say', async () => {
    const renderAs = (classAs: string) =>
      render({ ...withHibernation, hibernation: { ...withHibernation.hibernation, classAs } });
    const { metadata: hook } = await readClass(withHibernation);
    expect(hook.annotations).toMatchObject({ 'helm.sh/hook': 'post-install,post-upgrade' });
    const { metadata, spec } = find(await renderAs('Object'), 'SandboxSnapshotClass', 'node');
    expect(metadata.annotations).toEqual({
      'sandlot.dev/is-default-class': 'true',
      'argocd.argoproj.io/sync-options': 'SkipDryRunOnMissingResource=true',
      'argocd.argoproj.io/sync-wave': '1',
    });
    expect(spec).toEqual((await readClass(withHibernation)).spec);
    expect((await renderAs('None')).filter(({ kind }) => kind === 'SandboxSnapshotClass')).toEqual([]);
  });

  it('has the quota of the values, and none without', async () => {
    const quota = { bytesPerNamespace: 53_687_091_200, snapshotsPerNamespace: 0 };
    const hibernation = { ...withHibernation.hibernation, quota };
    const limited = find(await render({ ...withHibernation, hibernation }), 'SandboxSnapshotClass', 'node');
    expect(limited).toMatchObject({ spec: { quota } });
    expect(find(await render(withHibernation), 'SandboxSnapshotClass', 'node').spec).not.toHaveProperty('quota');
  });
});

describe('the node component', () => {
  it('is the only Pod of the release that is root or mounts folders of its node', async () => {
    const objects = await render(withHibernation);
    const special = podTemplates(objects).filter(
      ([, { spec }]) => /"(hostPath|hostPID|hostNetwork|hostIPC)"|"runAsUser":0|"runAsNonRoot":false/.test(JSON.stringify(spec)),
    );
    expect(special.map(([name]) => name)).toEqual([NODE]);
  });

  it('has no more rights on the node than these', async () => {
    const { spec } = getPod(await render(withHibernation), NODE);
    expect(spec.securityContext).toEqual({
      runAsNonRoot: false,
      runAsUser: 0,
      runAsGroup: 0,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(spec).toMatchObject({ automountServiceAccountToken: false });
    for (const field of ['hostPID', 'hostNetwork', 'hostIPC', 'initContainers']) expect(spec).not.toHaveProperty(field);
    expect(spec.containers.map(({ securityContext }) => securityContext)).toEqual([
      { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true },
    ]);
  });

  it('mounts these folders of the node and no others, and runsc read-only', async () => {
    const { spec } = getPod(await render(withHibernation), NODE);
    const { volumes = [] } = spec as HostVolumes;
    expect(volumes.flatMap(({ hostPath }) => (hostPath === undefined ? [] : [`${hostPath.type} ${hostPath.path}`]))).toEqual([
      'DirectoryOrCreate /var/lib/sandlot/snapshots',
      'DirectoryOrCreate /var/lib/sandlot/node',
      'DirectoryOrCreate /run/sandlot',
      'File /usr/local/bin/runsc',
      'DirectoryOrCreate /run/containerd/runsc/k8s.io',
    ]);
    const { volumeMounts } = spec.containers[0] as unknown as { volumeMounts: { name: string; readOnly?: true }[] };
    expect(volumeMounts.filter(({ readOnly }) => readOnly).map(({ name }) => name)).toEqual(['runsc', 'tls']);
  });

  it('has no token and no account with rights', async () => {
    const objects = await render(withHibernation);
    expect(find(objects, 'ServiceAccount', NODE)).toMatchObject({ automountServiceAccountToken: false });
    const bindings = objects.filter(({ kind }) => kind.endsWith('Binding') && !kind.startsWith('Validating'));
    expect(bindings.length).toBeGreaterThan(8);
    expect(JSON.stringify(bindings)).not.toContain(`"${NODE}"`);
  });

  it('gets its flags from the values, numbers in full', async () => {
    const node = { storeFolder: '/data/saved', runscRoot: '/run/own/k8s.io', mostSaves: 9, mostRestores: 12, wantedBytes: 0 };
    const numbers = { keepFreeBytes: 34_359_738_368, mostFilesBytes: 4_294_967_296, directRestores: false };
    const { spec } = getPod(await render({ ...withHibernation, hibernation: { enabled: true, node: { ...node, ...numbers } } }), NODE);
    const { args } = spec.containers[0] as unknown as { args: readonly string[] };
    expect(args).toEqual([
      '-node=$(NODE_NAME)',
      '-root=/data/saved',
      '-state=/var/lib/sandlot/node',
      '-runsc=/usr/local/bin/runsc',
      '-runsc-root=/run/own/k8s.io',
      '-socket=/run/sandlot/node.sock',
      '-listen=:8443',
      '-metrics=:9090',
      '-tls-dir=/etc/sandlot/tls',
      '-most-saves=9',
      '-most-restores=12',
      '-direct-restores=false',
      '-wanted-bytes=0',
      '-keep-free-bytes=34359738368',
      '-most-files-bytes=4294967296',
    ]);
    const mounts = JSON.stringify(spec.containers[0]);
    for (const folder of [node.storeFolder, node.runscRoot]) expect(mounts).toContain(`"mountPath":"${folder}"`);
  });

  it('has requests, a memory limit and three probes', async () => {
    const [container] = getPod(await render(withHibernation), NODE).spec.containers;
    expect(container?.resources).toMatchObject({ requests: { cpu: '20m', memory: '32Mi' }, limits: { memory: '256Mi' } });
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) expect(container).toHaveProperty(probe);
  });

  it.each([
    ['a relative folder', { storeFolder: 'snapshots' }],
    ['a whole disk', { stateFolder: '/' }],
    ['no saves at all', { mostSaves: 0 }],
    ['no restores at all', { mostRestores: 0 }],
    ['a negative size of files', { mostFilesBytes: -1 }],
  ])('rejects %s', async (_, node) => {
    const { code, stderr } = await template({ ...withHibernation, hibernation: { enabled: true, node } });
    expect(code).toBe(1);
    expect(stderr).toContain('/hibernation/node');
  });
});

describe('the network of the node component', () => {
  const readPolicy = async (values: object, name: string): Promise<unknown> => find(await render(values), 'NetworkPolicy', name).spec;
  const labelsOf = (component: string): object => ({
    matchLabels: {
      'app.kubernetes.io/name': 'sandlot',
      'app.kubernetes.io/instance': 'sandlot',
      'app.kubernetes.io/component': component,
    },
  });
  const agent = [{ port: 'agent', protocol: 'TCP' }];

  it('lets the snapshot-controller in, and nothing out', async () => {
    expect(await readPolicy(withHibernation, NODE)).toEqual({
      podSelector: labelsOf('node'),
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ podSelector: labelsOf('snapshot-controller') }], ports: agent }],
    });
    expect(await readPolicy(withHibernation, `${CONTROLLER}-node`)).toEqual({
      podSelector: labelsOf('snapshot-controller'),
      policyTypes: ['Egress'],
      egress: [{ to: [{ podSelector: labelsOf('node') }], ports: agent }],
    });
  });

  it('opens the port of its metrics to the scrapers of the values, as that of the controllers', async () => {
    const scraper = { namespaceSelector: { matchLabels: { team: 'observability' } } };
    const values = { ...withHibernation, networkPolicy: { scrapers: [scraper] } };
    const monitored = await render({ ...withHibernation, metrics: { podMonitor: { enabled: true } } });
    expect(JSON.stringify(find(monitored, 'PodMonitor', 'sandlot').spec)).toContain('"gateway","node","sandbox-controller","snapshot-controller"');
    const { ingress } = (await readPolicy(values, NODE)) as { ingress: readonly object[] };
    expect(ingress[1]).toEqual({ from: [scraper], ports: [{ port: 'metrics', protocol: 'TCP' }] });
    expect(JSON.stringify(await readPolicy(values, 'sandlot-controllers'))).toContain('snapshot-controller');
  });
});

describe('the certificates of snapshot-controller and node component', () => {
  const readFiles = async (): Promise<readonly [Record<string, string>, Record<string, string>]> => {
    const made = await makeCredentials(await render(withHibernation));
    return [made[`${NODE}-tls`] ?? {}, made[`${CONTROLLER}-tls`] ?? {}];
  };

  it('have one authority, whose key is nowhere, and one name each', async () => {
    const [node, controller] = await readFiles();
    for (const files of [node, controller]) expect(Object.keys(files).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    expect(node['ca.crt']).toBe(controller['ca.crt']);
    const read = (files: Record<string, string>): X509Certificate => new X509Certificate(files['tls.crt'] ?? '');
    expect([read(node), read(controller)].map(({ subjectAltName }) => subjectAltName)).toEqual([
      'DNS:sandlot-node',
      'DNS:snapshot-controller',
    ]);
    const authority = new X509Certificate(node['ca.crt'] ?? '');
    for (const certificate of [read(node), read(controller)]) {
      expect(certificate.checkIssued(authority)).toBe(true);
      expect(certificate.ca).toBe(false);
    }
  });

  it('let each side verify the other over TLS 1.3', async () => {
    const [node, controller] = await readFiles();
    const options = (files: Record<string, string>): object => ({ ca: files['ca.crt'], cert: files['tls.crt'], key: files['tls.key'] });
    const server = createServer({ ...options(node), minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized: true });
    const seen = new Promise<string | undefined>((resolve) => {
      server.on('secureConnection', (socket) => resolve(socket.getPeerX509Certificate()?.subjectAltName));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect({ ...options(controller), host: '127.0.0.1', port, servername: 'sandlot-node', minVersion: 'TLSv1.3' });
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    expect(await seen).toBe('DNS:snapshot-controller');
    socket.destroy();
    server.close();
  });

  it('may be in Secrets of the operator, and then the key-keeper makes none', async () => {
    const tls = { nodeSecret: 'node-certificate', controllerSecret: 'client-certificate' };
    const objects = await render({ ...withHibernation, hibernation: { enabled: true, tls } });
    expect(Object.keys(await makeCredentials(objects)).filter((name) => /sandlot-(node|snapshot)/.test(name))).toEqual([]);
    expect(JSON.stringify(getPod(objects, NODE).spec)).toContain('"secretName":"node-certificate"');
    expect(JSON.stringify(getPod(objects, CONTROLLER).spec)).toContain('"secretName":"client-certificate"');
  });
});
