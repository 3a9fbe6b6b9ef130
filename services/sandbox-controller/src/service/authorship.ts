import type { Sandbox } from '@sandlot/api-types';
import { findController } from '@sandlot/kube/objects';
import type { ObjectMeta } from '@sandlot/kube/objects';
import type { UnsetService } from '../plan/snapshot.ts';

const V1ALPHA1 = 'agents.x-k8s.io/v1alpha1';

type FieldsEntry = NonNullable<ObjectMeta['managedFields']>[number];

/**
 * The entries of `managedFields` that prove that the Pod template was written through v1alpha1, without their field sets.
 * Caches keep only these, because the rest of managedFields is by far the largest part of an object.
 */
export function listAuthorshipEntries(entries: readonly FieldsEntry[] | undefined): FieldsEntry[] {
  return (entries ?? []).filter(hasWrittenTemplateThroughV1Alpha1).map((entry) => ({
    manager: entry.manager,
    apiVersion: V1ALPHA1,
    fieldsV1: { 'f:spec': { 'f:podTemplate': {} } },
  }));
}

function hasWrittenTemplateThroughV1Alpha1({ apiVersion, subresource, fieldsV1 }: FieldsEntry): boolean {
  if (apiVersion !== V1ALPHA1 || (subresource ?? '') !== '') return false;
  return member(member(fieldsV1, 'f:spec'), 'f:podTemplate') !== undefined;
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

/** Whether the Sandbox wants a Service: as it says, else as docs/reference/sandbox.md#service-left-unset decides. */
export function wantsService(sandbox: Sandbox, unset: UnsetService): boolean {
  const { service } = sandbox.spec;
  if (service !== undefined) return service;
  if (unset === 'V1Alpha1') return isAuthoredThroughV1Alpha1(sandbox);
  return unset === 'Always';
}

/** Written by a user, not by a controller, and through v1alpha1, which promised its users a stable hostname. */
function isAuthoredThroughV1Alpha1(sandbox: Sandbox): boolean {
  return findController(sandbox) === undefined && listAuthorshipEntries(sandbox.metadata.managedFields).length > 0;
}
