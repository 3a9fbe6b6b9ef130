import { findOverlap, getHeaderSource, listMarkedSecrets } from '@sandlot/api-types';
import type { HeaderRule, HeaderSource, RuleHeader } from '@sandlot/api-types';
import type { Credential, PlaneHeader, PlaneRule, SeenOwner } from '../plan/plan.ts';

interface Rules {
  readonly rules: readonly PlaneRule[];
  /** The values that the rules refer to. */
  readonly credentials: readonly Credential[];
}

const NONE: Rules = { rules: [], credentials: [] };

/**
 * The rules of the template and of the claim. Those of the claim never change what the template says of a host. A sandbox
 * without a claim keeps the rules of its template and has no value for them, so that requests to those hosts fail.
 */
export function decideRules({ namespace, claim, egress }: SeenOwner): Rules {
  if (egress === undefined) return NONE;
  const ofTemplate = egress.rules ?? [];
  if (claim === undefined) return { rules: ofTemplate.map((rule) => buildRule(rule, '')), credentials: [] };
  const { name, uid: claimUid, wish } = claim;
  const ofClaim = (wish?.rules ?? []).filter((rule) => findOverlap([rule], ofTemplate) === undefined);
  const all = [...ofTemplate, ...ofClaim];
  return {
    rules: all.map((rule) => buildRule(rule, claimUid)),
    credentials: all.flatMap((rule) => listCredentials(rule, { namespace, claim: name, claimUid })),
  };
}

function buildRule({ host, methods, paths, headers }: HeaderRule, claimUid: string): PlaneRule {
  return { host, methods, paths, headers: headers.map((header) => buildHeader(header, { host, claimUid })) };
}

interface Place {
  readonly host: string;
  readonly claimUid: string;
}

function buildHeader(header: RuleHeader, place: Place): PlaneHeader {
  const source = getHeaderSource(header);
  if (isPlain(source)) return { name: header.name, value: source.text, ref: '' };
  return { name: header.name, value: '{}', ref: formatRef(header, place) };
}

function isPlain(source: HeaderSource): source is HeaderSource & { readonly kind: 'text' } {
  return source.kind === 'text' && listMarkedSecrets(source.text).length === 0;
}

/** With the host in it a value never goes to another host while a change of the rules is under way. */
function formatRef({ name }: RuleHeader, { host, claimUid }: Place): string {
  return `${claimUid} ${host} ${name.toLowerCase()}`;
}

function listCredentials(
  { host, headers }: HeaderRule,
  owner: Pick<Credential, 'namespace' | 'claim' | 'claimUid'>,
): Credential[] {
  return headers.flatMap((header) => {
    const source = getHeaderSource(header);
    if (isPlain(source)) return [];
    const ref = formatRef(header, { host, claimUid: owner.claimUid });
    return [{ ref, ...owner, host, header: header.name, source }];
  });
}
