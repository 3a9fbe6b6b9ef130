/** What stands for every label value beyond a limit. */
export const OVERFLOW_LABEL = 'other';

/**
 * Names that people choose, as label values of a bounded number: the first `max` that come are kept, all later ones are
 * `other`. Whoever was kept stays kept until the process ends, so that a series never changes its meaning.
 */
export function createLabelLimit(max: number): (value: string) => string {
  const kept = new Set<string>();
  return (value) => {
    if (kept.has(value)) return value;
    if (kept.size >= max) return OVERFLOW_LABEL;
    kept.add(value);
    return value;
  };
}

/**
 * The same for several labels at once: what is bounded is the number of their combinations, which is the number of
 * series. Beyond it each of the labels is `other`.
 */
export function createLabelSetLimit<L extends string>(
  max: number,
  names: readonly L[],
): <S extends Readonly<Record<L, string>>>(labels: S) => S {
  const kept = new Set<string>();
  const overflow = Object.fromEntries(names.map((name) => [name, OVERFLOW_LABEL]));
  return (labels) => {
    const key = names.map((name) => labels[name]).join('\u0000');
    if (kept.has(key)) return labels;
    if (kept.size >= max) return { ...labels, ...overflow };
    kept.add(key);
    return labels;
  };
}
