import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue, NetworkPolicy } from '@sandlot/kube';
import type { PolicySpec } from './policy.ts';

type Spec = NonNullable<NetworkPolicy['spec']>;

/**
 * Whether two specs allow the same traffic as written: defaults of the API server count as stated, an empty list as
 * absent, and the order of a list says nothing. `{}` as a selector or a rule is everything and never counts as absent.
 */
export function sameSpec(a: Spec | PolicySpec, b: Spec | PolicySpec): boolean {
  return isDeepStrictEqual(canonical(a, ''), canonical(b, ''));
}

function canonical(value: unknown, holder: string): unknown {
  if (Array.isArray(value)) {
    const entries: unknown[] = value.map((entry) => canonical(entry, holder));
    return entries.map((entry) => JSON.stringify(entry)).sort();
  }
  if (typeof value !== 'object' || value === null) return value;
  const stated = holder === 'ports' ? { protocol: 'TCP', ...withoutAbsent(value) } : withoutAbsent(value);
  const members = Object.entries(stated).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, canonical(member, name)]));
}

function withoutAbsent(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([name, member]) => !isAbsent(name, member)));
}

function isAbsent(name: string, member: unknown): boolean {
  if (member === undefined || member === null) return true;
  if (Array.isArray(member)) return member.length === 0;
  return name === 'matchLabels' && typeof member === 'object' && Object.keys(member).length === 0;
}

/**
 * The merge patch of `spec` that leaves exactly `wanted`, whatever stands there. A JSON patch would say it shorter, but
 * the API server reports its failed guard and a refused spec by the same code.
 */
export function specPatch(present: Spec | undefined, wanted: PolicySpec): JsonObject {
  const { matchLabels = {}, matchExpressions } = wanted.podSelector;
  const cleared = Object.fromEntries(Object.keys(present?.podSelector?.matchLabels ?? {}).map((key) => [key, null]));
  const list = (rules: readonly JsonValue[]): JsonValue => (rules.length === 0 ? null : rules);
  return {
    podSelector: { matchLabels: { ...cleared, ...matchLabels }, matchExpressions: matchExpressions ?? null },
    policyTypes: wanted.policyTypes,
    ingress: list(wanted.ingress),
    egress: list(wanted.egress),
  };
}
