import type { JsonObject, JsonValue, NetworkPolicy } from '@sandlot/kube';
import type { PolicySpec } from './policy.ts';

type Spec = NonNullable<NetworkPolicy['spec']>;

/**
 * Whether two specs mean the same, given what the API server fills in and leaves out: a default counts as stated, an empty
 * list as absent, and the order of a list does not matter. An empty selector or rule `{}` matches everything, so it never
 * counts as absent.
 */
export function hasSameSpec(a: Spec | PolicySpec, b: Spec | PolicySpec): boolean {
  return JSON.stringify(toCanonical(a, '')) === JSON.stringify(toCanonical(b, ''));
}

/** Sorted keys, sorted lists. `holder` is the field that holds the value. */
function toCanonical(value: unknown, holder: string): unknown {
  if (Array.isArray(value)) {
    const entries: unknown[] = value.map((entry) => toCanonical(entry, holder));
    return entries.map((entry) => JSON.stringify(entry)).sort();
  }
  if (typeof value !== 'object' || value === null) return value;
  const stated = holder === 'ports' ? { protocol: 'TCP', ...withoutAbsent(value) } : withoutAbsent(value);
  const members = Object.entries(stated).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, toCanonical(member, name)]));
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
 * The merge patch of `spec` that leaves exactly `wanted`, whatever is there. A JSON patch would be shorter, but with it the
 * API server answers a failed precondition and a refused spec by the same code.
 */
export function buildSpecPatch(present: Spec | undefined, wanted: PolicySpec): JsonObject {
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
