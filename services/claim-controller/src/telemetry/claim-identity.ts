import type { SandboxClaim } from '@sandlot/api-types';

/** What every event of a claim says about it. */
export function buildIdentity({ metadata, spec }: SandboxClaim) {
  const { namespace = '', name = '', uid = '' } = metadata;
  return { namespace, name, uid, pool: spec.warmPoolRef?.name, template: spec.sandboxTemplateRef?.name };
}
