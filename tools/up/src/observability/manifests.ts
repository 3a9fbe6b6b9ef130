import { traceBackendConfig } from '@sandlot/local-cluster';
import { serviceNames } from '../images/recipes.ts';
import { release } from '../install/values.ts';

/** Namespace of Prometheus and Jaeger, and the instance label of their objects. */
export const observability = { name: 'observability', namespace: 'sandlot-observability' } as const;

/**
 * Fixed ClusterIPs, from the part of the Service range that Kubernetes prefers not to assign dynamically. The machine
 * reaches them too.
 */
export const addresses = { prometheus: '10.96.0.90', jaeger: '10.96.0.91' } as const;

export const ports = { prometheus: 9090, otlp: 4318, traces: 16686 } as const;

/** A process of the chart that serves metrics. */
interface Scraped {
  readonly job: string;
  readonly component: string;
  /** Name of the container's port. */
  readonly name: string;
  readonly port: number;
}

/** The chart's `controller.metricsPort`. */
const METRICS_PORT = 9090;
/** The port at which the data plane of egress and the image plane have their metrics. */
const PLANE_PORT = 9464;

const scraped: readonly Scraped[] = [
  ...[...serviceNames, 'node'].map((job) => ({ job, component: job, name: 'metrics', port: METRICS_PORT })),
  // It shares its Pod with the service `egress`.
  { job: 'egress-proxy', component: 'egress', name: 'proxy-metrics', port: PLANE_PORT },
  // It shares its Pod with the service `template-builder`.
  { job: 'image-plane', component: 'template-builder', name: 'plane-metrics', port: PLANE_PORT },
];

/** The variable parts of the manifests. */
export interface ObservabilityInput {
  /** Full image names. */
  readonly images: { readonly prometheus: string; readonly jaeger: string };
  /** Rule files by name. */
  readonly rules: Readonly<Record<string, string>>;
  /** The page that shows traces. */
  readonly page: string;
  /** Hash of the configuration. A new one replaces the pods. */
  readonly key: string;
}

const MAX_TRACES = 10_000;
const USER_ID = 65532;

/** Returns every object, in the order to apply them. Pure. The release's namespace must exist. */
export function buildObservabilityManifests(input: ObservabilityInput): readonly object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: observability.namespace,
        labels: { ...labels(), 'pod-security.kubernetes.io/enforce': 'restricted' },
      },
    },
    ...listMetricsServices(),
    ...buildConfigMaps(input),
    ...buildPrometheusObjects(input),
    ...buildJaegerObjects(input),
  ];
}

function labels(component?: string): Record<string, string> {
  return {
    'app.kubernetes.io/instance': observability.name,
    'app.kubernetes.io/part-of': observability.namespace,
    ...(component === undefined ? {} : { 'app.kubernetes.io/component': component }),
  };
}

function metadata(name: string, namespace: string = observability.namespace): object {
  return { name, namespace, labels: labels() };
}

/**
 * Headless Services, whose names resolve to the addresses of a service's pods, including standbys and pods that are not
 * ready. Debian's Prometheus is built without Kubernetes discovery, so it finds pods by DNS and needs no RBAC.
 */
function listMetricsServices(): readonly object[] {
  return scraped.map(({ job, component, name, port }) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(formatMetricsService(job), release.namespace),
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: { 'app.kubernetes.io/instance': release.name, 'app.kubernetes.io/component': component },
      ports: [{ name, port, targetPort: name }],
    },
  }));
}

function formatMetricsService(job: string): string {
  return `${observability.name}-${job}`;
}

function buildConfigMaps({ rules, page }: ObservabilityInput): readonly object[] {
  const configMap = (name: string, data: object): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadata(name),
    data,
  });
  const jaeger = traceBackendConfig({
    listen: { otlpHttp: `0.0.0.0:${ports.otlp}`, query: `0.0.0.0:${ports.traces}` },
    maxTraces: MAX_TRACES,
    pages: '/etc/jaeger/pages',
  });
  return [
    configMap('prometheus', { 'prometheus.yml': JSON.stringify(buildPrometheusConfig(), undefined, 2) }),
    configMap('prometheus-rules', rules),
    configMap('jaeger', { 'jaeger.json': JSON.stringify(jaeger, undefined, 2) }),
    configMap('jaeger-pages', { 'index.html': page }),
  ];
}

/** Returns Prometheus's configuration, with one job per service of the chart and one target per pod. */
export function buildPrometheusConfig(): object {
  return {
    global: { scrape_interval: '5s', scrape_timeout: '5s', evaluation_interval: '5s' },
    storage: { exemplars: { max_exemplars: 100_000 } },
    // A pattern by ending, because a ConfigMap volume contains internal folders.
    rule_files: ['yaml', 'yml'].map((ending) => `/etc/prometheus/rules/*.${ending}`),
    scrape_configs: [
      { job_name: 'prometheus', static_configs: [{ targets: [`127.0.0.1:${ports.prometheus}`] }] },
      ...scraped.map(buildServiceJob),
    ],
  };
}

function buildServiceJob({ job, port }: Scraped): object {
  const names = [`${formatMetricsService(job)}.${release.namespace}.svc.cluster.local`];
  return {
    job_name: job,
    // The label `namespace` of a pool's metrics names the pool's namespace, not that of the controller's pod.
    honor_labels: true,
    dns_sd_configs: [{ names, type: 'A', port, refresh_interval: '5s' }],
    relabel_configs: [{ target_label: 'namespace', replacement: release.namespace }],
  };
}

function buildPrometheusObjects({ images, key }: ObservabilityInput): readonly object[] {
  const container = {
    image: images.prometheus,
    args: [
      '--config.file=/etc/prometheus/prometheus.yml',
      '--storage.tsdb.path=/prometheus',
      '--storage.tsdb.retention.time=24h',
      '--enable-feature=exemplar-storage',
      `--web.listen-address=:${ports.prometheus}`,
    ],
    ports: [{ name: 'http', containerPort: ports.prometheus }],
    readinessProbe: { httpGet: { path: '/-/ready', port: 'http' }, periodSeconds: 1 },
    resources: { requests: { cpu: '20m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    volumeMounts: [
      { name: 'config', mountPath: '/etc/prometheus/prometheus.yml', subPath: 'prometheus.yml' },
      { name: 'rules', mountPath: '/etc/prometheus/rules' },
      { name: 'data', mountPath: '/prometheus' },
    ],
  };
  const volumes = [
    { name: 'config', configMap: { name: 'prometheus' } },
    { name: 'rules', configMap: { name: 'prometheus-rules' } },
    { name: 'data', emptyDir: {} },
  ];
  return [
    buildDeployment('prometheus', { key, container, volumes, pod: noToken }),
    service('prometheus', addresses.prometheus, [{ name: 'http', port: ports.prometheus, targetPort: 'http' }]),
  ];
}

function buildJaegerObjects({ images, key }: ObservabilityInput): readonly object[] {
  const container = {
    image: images.jaeger,
    args: ['--config', 'file:/etc/jaeger/jaeger.json'],
    ports: [
      { name: 'otlp', containerPort: ports.otlp },
      { name: 'http', containerPort: ports.traces },
    ],
    // Jaeger starts its receiver last.
    readinessProbe: { tcpSocket: { port: 'otlp' }, periodSeconds: 1 },
    resources: { requests: { cpu: '20m', memory: '64Mi' }, limits: { memory: '512Mi' } },
    volumeMounts: [
      { name: 'config', mountPath: '/etc/jaeger/jaeger.json', subPath: 'jaeger.json' },
      { name: 'pages', mountPath: '/etc/jaeger/pages' },
    ],
  };
  const volumes = [
    { name: 'config', configMap: { name: 'jaeger' } },
    { name: 'pages', configMap: { name: 'jaeger-pages' } },
  ];
  return [
    buildDeployment('jaeger', { key, container, volumes, pod: noToken }),
    service('jaeger', addresses.jaeger, [
      { name: 'otlp', port: ports.otlp, targetPort: 'otlp' },
      { name: 'http', port: ports.traces, targetPort: 'http' },
    ]),
  ];
}

interface Workload {
  readonly key: string;
  readonly container: object;
  readonly volumes: readonly object[];
  readonly pod: object;
}

/** A Deployment with one replica, whose data is lost with its pod. */
function buildDeployment(name: string, { key, container, volumes, pod }: Workload): object {
  const template = {
    metadata: { labels: labels(name), annotations: { 'sandlot.dev/configuration': key } },
    spec: {
      ...pod,
      securityContext: { runAsNonRoot: true, runAsUser: USER_ID, fsGroup: USER_ID, seccompProfile: runtimeDefault },
      containers: [{ name, imagePullPolicy: 'IfNotPresent', securityContext: unprivileged, ...container }],
      volumes,
    },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...metadata(name) },
    spec: { replicas: 1, strategy: { type: 'Recreate' }, selector: { matchLabels: labels(name) }, template },
  };
}

const noToken = { automountServiceAccountToken: false };
const runtimeDefault = { type: 'RuntimeDefault' };
const unprivileged = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

function service(name: string, clusterIP: string, servicePorts: readonly object[]): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(name),
    spec: { clusterIP, selector: labels(name), ports: servicePorts },
  };
}
