import type { Rendered } from '../chart.ts';
import { find, render, withHibernation } from '../chart.ts';

/** A part of the release that has Pods. */
export interface Component {
  /** Name after that of the release. */
  readonly name: string;
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  /** Where its values are. Those of the node component are in `hibernation`. */
  readonly value: string;
  /** Whether values of `controller` stand in for its own. */
  readonly inherits: boolean;
}

const deployment = (name: string, value: string): Component => ({ name, kind: 'Deployment', value, inherits: true });

export const components: readonly Component[] = [
  deployment('sandbox-controller', 'sandboxController'),
  deployment('warmpool-controller', 'warmpoolController'),
  deployment('claim-controller', 'claimController'),
  deployment('snapshot-controller', 'snapshotController'),
  deployment('api', 'api'),
  deployment('gateway', 'gateway'),
  { name: 'nats', kind: 'StatefulSet', value: 'nats', inherits: false },
  { name: 'redis', kind: 'StatefulSet', value: 'redis', inherits: false },
  { name: 'node', kind: 'DaemonSet', value: 'node', inherits: false },
];

/** Rows for `it.each`. */
export const rows = components.map((component) => [component.name, component] as const);

/** Values that give each of the components these, in a release that has every component. */
export function valuesOf(chosen: readonly Component[], values: object): object {
  const isNode = ({ name }: Component): boolean => name === 'node';
  const others = chosen.filter((component) => !isNode(component)).map(({ value }) => [value, values] as const);
  const hibernation = { enabled: true, ...(chosen.some(isNode) ? { node: values } : {}) };
  return { ...withHibernation, ...Object.fromEntries(others), hibernation };
}

/** Renders a release with every component, and returns the workload of this one. */
export async function renderWorkload({ kind, name }: Component, values: object): Promise<Rendered> {
  return find(await render(values), kind, `sandlot-${name}`);
}
