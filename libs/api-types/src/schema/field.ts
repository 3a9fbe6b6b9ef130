import { z } from 'zod';

/** Go duration, the only form the API accepts (docs/reference/sandbox-warm-pool.md#spec). */
const DURATION = /^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/;

/** One CEL rule of a CRD; `message` is what the person who applied the manifest reads. */
interface Rule {
  readonly rule: string;
  readonly message: string;
}

/** Metadata that puts CEL rules on a schema. */
export function rules(...list: readonly Rule[]): { 'x-kubernetes-validations': readonly Rule[] } {
  return { 'x-kubernetes-validations': list };
}

/** The CEL rule that a field, which may be absent, stays as it was. */
export function staysAsItWas(field: string): Rule {
  const isSame = `(!has(self.${field}) || self.${field} == oldSelf.${field})`;
  return { rule: `has(self.${field}) == has(oldSelf.${field}) && ${isSame}`, message: `${field} is immutable` };
}

/** As long as the name of any object. */
export const objectName = z.string().min(1).max(253);

/** Metadata of a list whose entries `keys` identify; the API server refuses duplicates. */
export function listKeys(...keys: readonly string[]): Record<string, unknown> {
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys };
}

/** Metadata of a list that server-side apply owns as a whole. */
export const atomicList = { 'x-kubernetes-list-type': 'atomic' };

/** int32 from `min` to `max`. */
export function int32(min: number, max?: number): z.ZodInt {
  const atLeast = z.int().min(min);
  return (max === undefined ? atLeast : atLeast.max(max)).meta({ format: 'int32' });
}

/** A counter in a status. */
export const count = int32(0);

/** RFC 3339 time; Kubernetes stores whole seconds. */
export const timestamp = z.iso.datetime({ offset: true });

/** Duration such as `250ms` or `1h30m`; read it with `parseDurationMs`. */
export const duration = z.string().max(32).regex(DURATION);

/** Duration of one second or more; `field` names it in the refusal. */
export function durationOfASecond(field: string): z.ZodString {
  return duration.meta(rules({ rule: "duration(self) >= duration('1s')", message: `${field} must be at least 1s` }));
}

/** Whole number, or a percentage of the target up to `maxPercent`. */
export function intOrPercent(pattern: RegExp): z.ZodUnion<readonly [z.ZodInt, z.ZodString]> {
  return z
    .union([z.int().min(0), z.string().regex(pattern)])
    .meta({ 'x-kubernetes-int-or-string': true, minimum: 0, pattern: pattern.source });
}

/** Labels or annotations as Kubernetes carries them; their syntax is checked where they are used. */
export const stringMap = z.record(z.string(), z.string());

/** Reference to an object of the same namespace; an empty name counts as missing. */
export const localReference = z.object({
  name: z.string().min(1).describe('Name of an object of the same namespace.'),
});

/** metav1.Condition; reasons copied from a Pod are free text, so they are not narrowed here. */
const condition = z.object({
  type: z.string().min(1),
  status: z.enum(['True', 'False', 'Unknown']),
  observedGeneration: z.int().min(0).meta({ format: 'int64' }).optional(),
  lastTransitionTime: timestamp,
  reason: z.string(),
  message: z.string(),
});

/** Conditions of any kind, one per type. */
export const conditionList = z.array(condition).meta(listKeys('type'));

export const generation = z.int().min(0).meta({ format: 'int64' });
