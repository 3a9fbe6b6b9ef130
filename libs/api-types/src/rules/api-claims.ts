import type { ObjectMeta } from '@sandlot/kube/objects';
import { labels } from '../catalogue/keys.ts';

/** The metadata that says whether the API made an object. */
interface Marked {
  readonly metadata: Pick<ObjectMeta, 'name' | 'labels'>;
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
