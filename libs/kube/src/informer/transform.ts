import type { KubeObject } from '../objects/object.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Removes two large parts that controllers do not read: field ownership and kubectl's last applied manifest. This is the
 * default transform of informers, and custom transforms usually call it first.
 */
export function dropBulk<T extends KubeObject>(object: T): T {
  const { annotations } = object.metadata;
  const metadata = { ...object.metadata, managedFields: undefined };
  if (annotations?.[LAST_APPLIED] !== undefined) {
    metadata.annotations = Object.fromEntries(Object.entries(annotations).filter(([name]) => name !== LAST_APPLIED));
  }
  return { ...object, metadata };
}
