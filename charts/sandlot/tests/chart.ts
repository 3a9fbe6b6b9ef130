import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries } from '@sandlot/local-cluster';
import { parse } from 'yaml';
import { remember } from './renderings.ts';

/** Folder of the chart. */
export const chartFolder = join(import.meta.dirname, '..');

/** Name and namespace of the release that the tests render. */
export const release = { name: 'sandlot', namespace: 'sandlot-system' };

const KUBE_VERSION = '1.36.3';
/** Length from which the text of an object is parsed only once in a run. The CRDs are longer. */
const LONG = 20_000;

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly resources?: { readonly requests?: object; readonly limits?: { readonly memory?: string } };
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: object;
  readonly readinessProbe?: object;
  readonly livenessProbe?: object;
}

export interface PodTemplate {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly automountServiceAccountToken?: boolean;
    readonly securityContext?: Readonly<Record<string, unknown>>;
    readonly containers: readonly ContainerSpec[];
    readonly topologySpreadConstraints?: readonly object[];
    readonly [field: string]: unknown;
  };
}

/** A rendered object. Only the fields that tests read are typed. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly Rule[];
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly template?: PodTemplate; readonly replicas?: number };
}

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs helm. Does not throw if helm fails. */
export async function helm(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<HelmResult> {
  const bin = await ensureBinaries(['helm']);
  const options = { env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20, timeout: 100_000 };
  return new Promise((resolve) => {
    execFile(bin('helm'), [...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, stdout, stderr });
    });
  });
}

function valueFlags(values: object): readonly string[] {
  return Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`]);
}

/** Runs `helm template` with these top-level values over the defaults. Does not throw if helm fails. */
export function template(values: object = {}, kubeVersion = KUBE_VERSION): Promise<HelmResult> {
  return remember(['template', values, kubeVersion], () => templateAnew(values, kubeVersion));
}

/** Renders the chart and returns every object. Throws with helm's message if it fails. */
export function render(values: object = {}, kubeVersion = KUBE_VERSION): Promise<readonly Rendered[]> {
  return remember(['render', values, kubeVersion], async () => parseObjects(await template(values, kubeVersion)));
}

/** Like {@link template}, but runs helm each time. */
export function templateAnew(values: object, kubeVersion = KUBE_VERSION): Promise<HelmResult> {
  const flags = ['-n', release.namespace, '--kube-version', kubeVersion, ...valueFlags(values)];
  return helm(['template', release.name, chartFolder, ...flags]);
}

const SHOWN_NOTES = `
{{- define "test.notes" }}NOTES{{ end }}
apiVersion: v1
kind: ConfigMap
metadata: { name: notes }
data:
  text: {{ include "test.notes" . | toJson }}
`;

/**
 * What helm says after an installation with these top-level values. Without a cluster helm shows no notes, so a copy of the chart
 * has them in an object. Throws with helm's message if it fails.
 */
export function renderNotes(values: object = {}): Promise<string> {
  return remember(['notes', values], async () => {
    const copy = await mkdtemp(join(tmpdir(), 'sandlot-chart-'));
    try {
      await cp(chartFolder, copy, { recursive: true, filter: (path) => !path.includes('/tests') });
      const notes = await readFile(join(copy, 'templates/NOTES.txt'), 'utf8');
      await writeFile(join(copy, 'templates/notes.yaml'), SHOWN_NOTES.replace('NOTES', () => notes));
      const flags = ['-n', release.namespace, '--kube-version', KUBE_VERSION, ...valueFlags(values)];
      const shown = await parseObjects(await helm(['template', release.name, copy, '-s', 'templates/notes.yaml', ...flags]));
      return shown[0]?.data?.['text'] ?? '';
    } finally {
      await rm(copy, { recursive: true });
    }
  });
}

async function parseObjects({ code, stdout, stderr }: HelmResult): Promise<readonly Rendered[]> {
  if (code !== 0) throw new Error(stderr);
  const objects = await Promise.all(stdout.split(/^---$/m).map(parseObject));
  return objects.filter((object) => object !== null);
}

/** Every rendering has the same CRDs, and to parse them takes a second. */
async function parseObject(text: string): Promise<Rendered | null> {
  return text.length < LONG ? parseYaml(text) : remember(['parse', text], () => Promise.resolve(parseYaml(text)));
}

function parseYaml(text: string): Rendered | null {
  return parse(text) as Rendered | null;
}

/** Runs `helm lint --strict` with these values. */
export function lint(values: object = {}): Promise<HelmResult> {
  return helm(['lint', chartFolder, '--strict', '--kube-version', KUBE_VERSION, ...valueFlags(values)]);
}

/** Returns the object with this kind and name. Throws if there is none. */
export function find(objects: readonly Rendered[], kind: string, name: string): Rendered {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined)
    throw new Error(`no ${kind} ${name} among ${objects.map((o) => `${o.kind}/${o.metadata.name}`).join(', ')}`);
  return found;
}

/** Returns the pod templates of the release with the names of their workloads. */
export function podTemplates(objects: readonly Rendered[]): readonly (readonly [string, PodTemplate])[] {
  return objects.flatMap(({ metadata, spec }) =>
    spec?.template === undefined ? [] : [[metadata.name, spec.template] as const],
  );
}

/** The least with which the chart renders hibernation. */
export const withHibernation = { hibernation: { enabled: true }, runtime: { delivery: 'ImageVolume' } };

/** Values with which the release builds templates. */
export const withBuilds = { builds: { enabled: true, registry: { name: 'registry.example.com/sandlot' } } };

/** The profiles that come with the chart. */
export const profiles: Readonly<Record<string, object>> = Object.fromEntries(
  ['small', 'ha'].map((name) => [name, readProfile(name)]),
);

function readProfile(name: string): object {
  return parse(readFileSync(join(chartFolder, 'profiles', `${name}.yaml`), 'utf8')) as object;
}

/** Sets of values that differ in structure, not only in numbers. */
export const valueSets: Readonly<Record<string, object>> = {
  default: {},
  external: {
    nats: {
      enabled: false,
      external: { url: 'tls://nats.example.com:4222', caSecret: 'nats-ca' },
      streamReplicas: 3,
      auth: { existingSecret: 'nats-users' },
    },
    redis: {
      enabled: false,
      external: { url: 'rediss://redis.example.com:6380', user: 'sandlot', caSecret: 'redis-ca' },
      auth: { existingSecret: 'redis-user' },
    },
    runtime: { existingSecret: 'runtime-keys' },
    gateway: { existingSecret: 'gateway-key' },
    policies: { mode: 'off' },
    tracing: { endpoint: 'http://collector.observability:4318', sampleRatio: 0.1 },
    image: { registry: 'registry.example.com', repository: 'team/sandlot', pullSecrets: [{ name: 'registry' }] },
  },
  'high-availability': {
    api: { replicas: 2, keysNamespace: 'sandlot-keys' },
    sandboxController: { replicas: 2 },
    warmpoolController: { replicas: 2 },
    claimController: { replicas: 3, image: { digest: `sha256:${'a'.repeat(64)}` } },
    gateway: {
      replicas: 2,
      domains: ['sandbox.example.com'],
      tls: { secret: 'wildcard' },
      service: { type: 'LoadBalancer', annotations: { 'example.com/internal': 'true' } },
      trustedProxies: ['10.0.0.0/8'],
      allowFrom: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
      agentSandbox: { router: { enabled: true, namespace: 'agent-sandbox-system' } },
    },
    controller: {
      priorityClassName: 'system-cluster-critical',
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'control', effect: 'NoSchedule' }],
      podAnnotations: { 'example.com/team': 'platform' },
      extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=384' }],
    },
    nats: { replicas: 3, streamReplicas: 3, tls: { secret: 'nats-tls' } },
    redis: { tls: { existingSecret: 'redis-tls' } },
    policies: { mode: 'off' },
    flowControl: { enabled: true },
    egress: { enabled: true, credentials: { enabled: true }, upstreamCA: { secret: 'upstreams' }, clusterIP: '10.96.0.53' },
    webhooks: { enabled: true, replicas: 2, privateAddresses: ['10.20.0.0/16'] },
    builds: {
      enabled: true,
      replicas: 2,
      registry: { name: 'registry.example.com/sandlot', credentialsSecret: 'push', caSecret: 'registry-authority' },
      tenantRegistries: ['docker.io'],
      template: { podTemplate: { spec: { runtimeClassName: 'gvisor' } } },
      pool: { replicas: 1 },
    },
    networkPolicy: { scrapers: [{ namespaceSelector: { matchLabels: { team: 'observability' } } }] },
  },
  hibernation: {
    ...withHibernation,
    hibernation: {
      enabled: true,
      installer: { enabled: true, restartContainerd: true },
      node: {
        priorityClassName: 'system-node-critical',
        nodeSelector: { 'example.com/sandboxes': 'true' },
        tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'sandboxes', effect: 'NoSchedule' }],
      },
      bucket: {
        endpoint: 'https://s3.example.com:9000',
        name: 'sandboxes',
        prefix: 'cluster-a',
        credentialsSecret: 's3-account',
        caSecret: 's3-authority',
        egress: [{ ipBlock: { cidr: '192.0.2.0/24' } }],
      },
    },
    snapshotController: { replicas: 2 },
    api: { enabled: false },
    gateway: { enabled: false },
    policies: { mode: 'off' },
    networkPolicy: { scrapers: [{ namespaceSelector: { matchLabels: { team: 'observability' } } }] },
  },
  namespaced: {
    nats: { tls: { enabled: false } },
    redis: { tls: { enabled: false } },
    watchNamespaces: ['team-a', 'team-b'],
    rbac: { aggregate: false },
    crds: { enabled: false },
    sandboxes: { securityDefaults: 'Hardened', resources: { limits: { memory: '1Gi' } } },
    network: {
      extraBlockedCIDRs: ['34.118.224.0/20', '2600:1900::/28'],
      extraEgress: [{ to: [{ ipBlock: { cidr: '10.0.0.10/32' } }], ports: [{ port: 53, protocol: 'UDP' }] }],
      protectAuthoredSandboxes: true,
    },
    egress: {
      enabled: true,
      mode: 'Proxied',
      replicas: 1,
      inspect: 'All',
      ports: { http: [80, 8080], tls: [443, 8443] },
      resolvers: ['192.0.2.53', '[2001:db8::53]:5353'],
      ca: { existingSecret: 'egress-authority' },
    },
  },
};
