import type { KubeObject } from '../objects/object.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Leaves out the two parts that make objects large and that controllers do not read: field ownership and kubectl's
 * record of the last manifest. The default transform of informers; one that replaces it usually starts with it.
 */
export function dropBulk<T extends KubeObject>(object: T): T {
  const { annotations } = object.metadata;
  const metadata = { ...object.metadata, managedFields: undefined };
  if (annotations?.[LAST_APPLIED] !== undefined) {
    metadata.annotations = Object.fromEntries(Object.entries(annotations).filter(([name]) => name !== LAST_APPLIED));
  }
  return { ...object, metadata };
}
