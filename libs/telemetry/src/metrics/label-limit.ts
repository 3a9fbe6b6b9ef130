/** What stands for every label value beyond a limit. */
export const OVERFLOW_LABEL = 'other';

/**
 * Names that people choose, as label values of a bounded number: those that `reserved` lists are kept, and of the others the
 * first that come, until there are `max` in all; later ones are `other`. Whoever was kept stays kept until the process ends,
 * so that a series never changes its meaning.
 */
export function createLabelLimit(max: number, reserved: readonly string[] = []): (value: string) => string {
  const kept = new Set(reserved);
  return (value) => {
    if (kept.has(value)) return value;
    if (kept.size >= max) return OVERFLOW_LABEL;
    kept.add(value);
    return value;
  };
}

/** Values of one of several labels that have series of their own in any case. */
export interface ReservedLabel<L extends string> {
  readonly label: L;
  readonly values: readonly string[];
}

/**
 * The same for several labels at once: what is bounded is the number of their combinations, which is the number of
 * series. Beyond it each of the labels is `other`, except one with a reserved value: a series more for each of those.
 */
export function createLabelSetLimit<L extends string>(
  max: number,
  names: readonly L[],
  reserved?: ReservedLabel<L>,
): <S extends Readonly<Record<L, string>>>(labels: S) => S {
  const kept = new Set<string>();
  const overflow = Object.fromEntries(names.map((name) => [name, OVERFLOW_LABEL]));
  const values = new Set(reserved?.values);
  const beyond = <S extends Readonly<Record<L, string>>>(labels: S): S => {
    const value = reserved === undefined ? undefined : labels[reserved.label];
    const isReserved = reserved !== undefined && value !== undefined && values.has(value);
    return { ...labels, ...overflow, ...(isReserved ? { [reserved.label]: value } : {}) };
  };
  return (labels) => {
    const key = names.map((name) => labels[name]).join('\u0000');
    if (kept.has(key)) return labels;
    if (kept.size >= max) return beyond(labels);
    kept.add(key);
    return labels;
  };
}
