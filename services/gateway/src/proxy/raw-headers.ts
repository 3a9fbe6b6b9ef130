/** Converts names and values in turn to the form HTTP/2 needs: names in lower case, the values of one name together. */
export function asHttp2(flat: readonly string[]): Record<string, string | string[]> {
  const together: Record<string, string | string[]> = {};
  for (let at = 0; at < flat.length; at += 2) {
    const name = (flat[at] ?? '').toLowerCase();
    const value = flat[at + 1] ?? '';
    const before = Object.hasOwn(together, name) ? together[name] : undefined;
    together[name] = before === undefined ? value : [before, value].flat();
  }
  return together;
}

/** Converts names and values in turn to pairs. */
export function listPairs(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < flat.length; at += 2) pairs.push([flat[at] ?? '', flat[at + 1] ?? '']);
  return pairs;
}
