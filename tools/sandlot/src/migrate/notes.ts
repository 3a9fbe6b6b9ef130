/** What a user has to know about one field of a translated object. */
export interface Note {
  /** lost: it has no effect any more. changed: it means nearly the same. check: it depends on the cluster. */
  readonly effect: 'lost' | 'changed' | 'check';
  /** Such as `spec.probes`. */
  readonly field: string;
  readonly text: string;
}

/** The translation of one object. */
export interface Translated {
  /** Such as `SandboxSet team-a/python`. */
  readonly from: string;
  /** Objects of Sandlot; none if it is left out. */
  readonly objects: readonly object[];
  readonly notes: readonly Note[];
}

const REPLACEMENTS: Readonly<Record<string, string>> = {
  probes: 'the daemon and spec.idle see activity; for readiness use the readinessProbe of a container',
  autoPausePolicy: 'set spec.idle.suspendAfterSeconds; spec.autoResume decides who may wake it',
  lifecycle: 'there are no hooks of upgrades: a changed template makes new members of the pool alone',
  upgradePolicy: 'a Sandbox keeps its Pod; delete the Pod and the next one follows the Sandbox',
  runtimes: 'the template decides: spec.runtime.inject',
};

/** Reports the fields of a spec that no translation reads. */
export function noteUnread(spec: object, read: readonly string[]): readonly Note[] {
  const unread = Object.entries(spec).filter(([name, value]) => !read.includes(name) && !isEmpty(value));
  return unread.map(([name]) => ({
    effect: 'lost',
    field: `spec.${name}`,
    text: REPLACEMENTS[name] ?? 'Sandlot has no such field',
  }));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

const FOREIGN = /^(?:[\w.-]*\.)?(?:agents\.kruise\.io|kubectl\.kubernetes\.io|sandlot\.dev|agents\.x-k8s\.io)\//;

/** Labels or annotations without those that a controller wrote for itself; undefined if none is left. */
export function keepOwn(map: Readonly<Record<string, string>> | undefined): Record<string, string> | undefined {
  const own = Object.entries(map ?? {}).filter(([key]) => !FOREIGN.test(key));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly labels?: Record<string, string> | undefined;
  readonly annotations?: Record<string, string> | undefined;
}

/** The metadata of the translation of an object: its name, and the labels and annotations of its author. */
export function keepMetadata({ name, namespace, labels, annotations }: Metadata): Metadata {
  return compact({ name, namespace, labels: keepOwn(labels), annotations: keepOwn(annotations) });
}

/** The object without the fields that are undefined. */
export function compact<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}

/** Names an object for people: `SandboxSet team-a/python`. */
export function formatFrom(kind: string, { metadata }: { readonly metadata: Metadata }): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
