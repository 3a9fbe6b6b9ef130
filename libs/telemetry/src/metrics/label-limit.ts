/** The label value beyond a limit. */
export const OVERFLOW_LABEL = 'other';

/**
 * Bounds the label values that users choose: the names in `reserved` and the first others, until there are `max` in all; later
 * ones become `other`. A kept name stays until the process ends, so that a series never changes its meaning.
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

/** Values of one label that always have series of their own. */
export interface ReservedLabel<L extends string> {
  readonly label: L;
  readonly values: readonly string[];
}

/**
 * The same for several labels at once: it bounds their combinations, which are the series. Beyond the limit each label is
 * `other`, except one with a reserved value, which adds one series per value.
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
