import type { ObjectMeta } from '@sandlot/kube/objects';
import { annotations, labels } from '../catalogue/keys.ts';
import type { SandboxClaim } from '../objects.ts';

/** The metadata that says whether the API made an object. */
interface Marked {
  readonly metadata: Pick<ObjectMeta, 'name' | 'labels'>;
}

/** The metadata that says which API key made a claim. */
interface Keyed {
  readonly metadata: Pick<ObjectMeta, 'namespace' | 'annotations'>;
}

/**
 * The sandbox id under which the API made a claim; undefined for a claim made in another way. The API names the claim by
 * the id, so that a label alone, which anyone may set, proves nothing.
 */
export function findSandboxId({ metadata: { name, labels: given } }: Marked): string | undefined {
  const id = given?.[labels.sandboxId];
  return id !== undefined && id !== '' && id === name ? id : undefined;
}

/** Whether the API made the claim: users know it by its sandbox id. Other claims are known by namespace and name. */
export function isMadeByApi(claim: Marked): boolean {
  return findSandboxId(claim) !== undefined;
}

/** The spec and annotations that say what a claim started from. */
interface Started {
  readonly metadata: Pick<ObjectMeta, 'annotations' | 'labels'>;
  readonly spec: Pick<SandboxClaim['spec'], 'warmPoolRef' | 'sandboxTemplateRef'>;
}

/**
 * The `templateID` of a sandbox for clients of E2B: the name of the pool or template that the claim names, and the id of a template that
 * was built over the API, whatever its tag. That of a fork names the template of the sandbox it was forked from.
 */
export function getTemplateId({ metadata, spec }: Started): string {
  const forked = metadata.annotations?.[annotations.forkedTemplate];
  return (
    forked ?? metadata.labels?.[labels.templateId] ?? spec.warmPoolRef?.name ?? spec.sandboxTemplateRef?.name ?? ''
  );
}

/**
 * The API key that made a claim, as `namespace/id`; undefined for a claim made in another way. The namespace is in it, so that
 * a claim with the id of a foreign key counts only in its own namespace.
 */
export function findApiKey({ metadata: { namespace = '', annotations: given } }: Keyed): string | undefined {
  const id = given?.[annotations.apiKeyId];
  return id === undefined ? undefined : `${namespace}/${id}`;
}

/** The key of a claim with the number of Sandboxes it may have; undefined without a key or without a limit. */
export function findKeyQuota(claim: Keyed): { readonly key: string; readonly limit: number } | undefined {
  const key = findApiKey(claim);
  const text = claim.metadata.annotations?.[annotations.apiKeySandboxes] ?? '';
  return key === undefined || !/^[1-9]\d{0,8}$/.test(text) ? undefined : { key, limit: Number(text) };
}
