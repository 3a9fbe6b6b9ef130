import type { SandboxClaim } from '@sandlot/api-types';
import { BY_TEMPLATE, formatRefKey } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';
import type { Source } from '../plan/snapshot.ts';

type SourceCache = Pick<Cache, 'pools' | 'templates'>;

/** The template and pools that the claim names, from the cache. */
export function findSource(cache: SourceCache, claim: SandboxClaim): Source {
  const { warmPoolRef, sandboxTemplateRef } = claim.spec;
  return warmPoolRef === undefined
    ? findByTemplate(cache, claim, sandboxTemplateRef?.name ?? '')
    : findByPool(cache, claim, warmPoolRef.name);
}

function findByPool({ pools, templates }: SourceCache, claim: SandboxClaim, name: string): Source {
  const pool = pools.store.get(formatRefKey(claim, name));
  if (pool === undefined) return { kind: 'missingPool', name };
  const { name: templateName } = pool.spec.sandboxTemplateRef;
  const template = templates.store.get(formatRefKey(claim, templateName));
  return template === undefined
    ? { kind: 'missingTemplate', name: templateName }
    : { kind: 'found', template, pools: [pool] };
}

function findByTemplate({ pools, templates }: SourceCache, claim: SandboxClaim, name: string): Source {
  const template = templates.store.get(formatRefKey(claim, name));
  if (template === undefined) return { kind: 'missingTemplate', name };
  const { warmpool = 'default' } = claim.spec;
  const ofTemplate = warmpool === 'none' ? [] : [...pools.store.listByIndex(BY_TEMPLATE, formatRefKey(claim, name))];
  const wanted = ofTemplate.filter(({ metadata }) => warmpool === 'default' || metadata.name === warmpool);
  return { kind: 'found', template, pools: wanted };
}
