import type { Rendered } from '../chart.ts';
import { find, render, withHibernation } from '../chart.ts';

/** A part of the release that has Pods. */
export interface Component {
  /** Name after that of the release. */
  readonly name: string;
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  /** Path of its values. */
  readonly value: string;
  /** Whether values of `controller` stand in for its own. */
  readonly inherits: boolean;
  readonly takesArguments: boolean;
}

const deployment = (name: string, value: string, takesArguments = true): Component => ({
  name,
  kind: 'Deployment',
  value,
  inherits: true,
  takesArguments,
});
const server = (name: string, kind: Component['kind'], value: string): Component => ({
  name,
  kind,
  value,
  inherits: false,
  takesArguments: true,
});

export const components: readonly Component[] = [
  deployment('sandbox-controller', 'sandboxController'),
  deployment('warmpool-controller', 'warmpoolController'),
  deployment('claim-controller', 'claimController'),
  deployment('snapshot-controller', 'snapshotController'),
  deployment('volume-controller', 'volumeController'),
  deployment('api', 'api'),
  deployment('gateway', 'gateway'),
  deployment('key-keeper', 'keyKeeper', false),
  deployment('streams', 'nats.streams', false),
  deployment('egress', 'egress', false),
  deployment('template-builder', 'builds'),
  deployment('webhooks', 'webhooks'),
  server('nats', 'StatefulSet', 'nats'),
  server('redis', 'StatefulSet', 'redis'),
  server('node', 'DaemonSet', 'hibernation.node'),
];

/** Rows for `it.each`. */
export const rows = components.map((component) => [component.name, component] as const);

/** The least with which the chart renders every component. */
export const withAll = { ...withHibernation, egress: { enabled: true }, volumes: { storageClass: 'shared' }, builds: { enabled: true, registry: { name: 'registry.example.com/sandlot' } }, webhooks: { enabled: true } };

/** Values that give each of the components these, in a release that has every component. */
export function valuesOf(chosen: readonly Component[], values: object): object {
  const all: Values = { ...structuredClone(withAll) };
  for (const { value } of chosen) Object.assign(open(all, value.split('.')), values);
  return all;
}

type Values = Record<string, unknown>;

/** The values at the path, which it makes if they are not there. */
function open(values: Values, [first, ...rest]: readonly string[]): Values {
  return first === undefined ? values : open((values[first] ??= {}) as Values, rest);
}

/** Renders a release with every component, and returns the workload of this one. */
export async function renderWorkload({ kind, name }: Component, values: object): Promise<Rendered> {
  return find(await render(values), kind, `sandlot-${name}`);
}

const toleration = { key: 'dedicated', operator: 'Equal', value: 'sandlot', effect: 'NoSchedule' };
const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } };
/** Where Pods are to run. */
export const placement = {
  priorityClassName: 'important',
  nodeSelector: { 'example.com/pool': 'system' },
  tolerations: [toleration],
  affinity,
};

/** What an operator adds to Pods. */
export const extras = {
  podLabels: { 'example.com/team': 'platform' },
  podAnnotations: { 'example.com/scrape': 'no' },
  extraEnv: [{ name: 'GREETING', value: 'hello' }],
  extraEnvFrom: [{ secretRef: { name: 'more', optional: true } }],
  extraVolumes: [{ name: 'certificates', configMap: { name: 'certificates' } }],
  extraVolumeMounts: [{ name: 'certificates', mountPath: '/etc/certificates', readOnly: true }],
};
