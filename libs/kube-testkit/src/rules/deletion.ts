import type { Clock } from '@sandlot/std';
import { conflict } from '../server/api-error.ts';
import type { ApiObject } from '../storage/api-object.ts';
import { setAt, formatTimestamp, valueAt } from '../storage/api-object.ts';
import type { Definition } from '../storage/served-resource.ts';
import { isHeldNamespace } from '../storage/registry.ts';
import type { Registry, Target } from '../storage/registry.ts';

/** `DeleteOptions` from the body of a DELETE. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  readonly preconditions?:
    { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined } | undefined;
}

interface Deleted {
  readonly object: ApiObject;
  /** False while a grace period or finalizers keep the object. */
  readonly gone: boolean;
}

/** Finalizers of the propagation policies, which the garbage collector handles before the object is removed. */
export const FOREGROUND = 'foregroundDeletion';
export const ORPHAN = 'orphan';

const DEFAULT_GRACE_SECONDS = 30;

/** Begins or completes the deletion of one object. */
export function deleteObject(registry: Registry, target: Target, options: DeleteOptions & { clock: Clock }): Deleted {
  const { definition } = target;
  const current = registry.read(target);
  checkPreconditions(definition, current, options);
  const graceSeconds = getGrace(definition, current, options.gracePeriodSeconds);
  const finalizers = listFinalizers(current, options.propagationPolicy);
  const held = graceSeconds > 0 || finalizers.length > 0 || isHeldNamespace(definition, current);
  if (!held) return { object: registry.remove(target) ?? current, gone: true };
  const next = markDeleted(current, { graceSeconds, finalizers, nowMs: options.clock.now() });
  if (isHeldNamespace(definition, next)) setAt(next, ['status', 'phase'], 'Terminating');
  return { object: next === current ? current : registry.overwrite(target, next), gone: false };
}

function checkPreconditions(
  { kind, group }: Definition,
  { metadata }: ApiObject,
  { preconditions }: DeleteOptions,
): void {
  const of = { group, plural: kind, kind };
  const name = metadata.name ?? '';
  const { uid, resourceVersion } = preconditions ?? {};
  if (uid !== undefined && uid !== metadata.uid) {
    const why =
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid ?? ''}). ` +
      'The object might have been deleted and then recreated';
    throw conflict(of, name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why =
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record ` +
      `(${metadata.resourceVersion ?? ''}). The object might have been modified`;
    throw conflict(of, name, why);
  }
}

/** Only pods on a node get a grace period. */
function getGrace({ graceful }: Definition, pod: ApiObject, requested: number | undefined): number {
  const phase = valueAt(pod, ['status', 'phase']);
  if (!graceful || valueAt(pod, ['spec', 'nodeName']) === undefined || phase === 'Succeeded' || phase === 'Failed')
    return 0;
  const configured = valueAt(pod, ['spec', 'terminationGracePeriodSeconds']);
  const grace = requested ?? (typeof configured === 'number' ? configured : DEFAULT_GRACE_SECONDS);
  return grace < 0 ? 1 : grace;
}

function listFinalizers({ metadata }: ApiObject, policy: DeleteOptions['propagationPolicy']): string[] {
  const present = metadata.finalizers ?? [];
  if (policy === undefined) return present;
  const others = present.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN);
  if (policy === 'Background') return others;
  return [...others, policy === 'Foreground' ? FOREGROUND : ORPHAN];
}

interface Mark {
  readonly graceSeconds: number;
  readonly finalizers: readonly string[];
  readonly nowMs: number;
}

/** Marks the object as being deleted. A later request can shorten the grace period but not extend it. */
function markDeleted(current: ApiObject, { graceSeconds, finalizers, nowMs }: Mark): ApiObject {
  const { metadata } = current;
  const begun = metadata.deletionTimestamp !== undefined;
  const graceLeft = metadata.deletionGracePeriodSeconds ?? Number.POSITIVE_INFINITY;
  const sameFinalizers = (metadata.finalizers ?? []).join() === finalizers.join();
  if (begun && graceSeconds >= graceLeft && sameFinalizers) return current;
  const next: ApiObject = structuredClone(current);
  if (graceSeconds < graceLeft) {
    next.metadata.deletionTimestamp = formatTimestamp(nowMs + graceSeconds * 1_000);
    next.metadata.deletionGracePeriodSeconds = graceSeconds;
  }
  if (!begun && metadata.generation !== undefined) next.metadata.generation = metadata.generation + 1;
  if (finalizers.length > 0) next.metadata.finalizers = [...finalizers];
  else Reflect.deleteProperty(next.metadata, 'finalizers');
  return next;
}
