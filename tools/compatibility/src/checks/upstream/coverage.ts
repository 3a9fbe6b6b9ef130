import { getRow } from '../../model.ts';
import type { Table } from '../../model.ts';

/** Names of methods, each with the names of its optional parameters. */
export type Methods = Readonly<Record<string, readonly string[]>>;

/** The names of the rows of some tables; a row may have several, with commas between them. */
export function listNames(tables: readonly Table[]): ReadonlySet<string> {
  // A comma between parentheses is one of options.
  return new Set(tables.flatMap(({ items }) => items.flatMap((item) => getRow(item).name.split(/, (?![^(]*\))/))));
}

/**
 * What of upstream has no row: names without a row of that name or of something below it, and, where rows name options of a
 * method, its other options. An asynchronous class has the rows of the other.
 */
export function listUncovered(methods: Methods, names: ReadonlySet<string>): readonly string[] {
  const options = listOptions(names);
  const isCovered = (name: string): boolean =>
    [...names].some((one) => one === name || one.startsWith(`${name}.`) || one.startsWith(`${name}(`));
  return Object.entries(methods).flatMap(([name, optional]) => {
    if (!isCovered(name) && !isCovered(name.replace(/^Async/, ''))) return [name];
    const listed = options.get(name);
    return listed === undefined ? [] : optional.filter((one) => !listed.has(one)).map((one) => `${name}(${one}=)`);
  });
}

/** The options that rows such as `create(labels=, env=)` name, by method. */
function listOptions(names: ReadonlySet<string>): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const name of names) {
    const [, method = '', listed = ''] = /^([^(]+)\((.*=)\)$/.exec(name) ?? [];
    if (listed === '') continue;
    const options = found.get(method) ?? new Set();
    for (const option of listed.split(', ')) options.add(option.slice(0, -1));
    found.set(method, options);
  }
  return found;
}
