import { findNamePattern, formatPattern } from './names.ts';
import type { NamePattern } from './names.ts';

/** The patterns that have exactly the names that both lists have, each once. What is no pattern counts as absent. */
export function intersectNames(one: readonly string[], other: readonly string[]): readonly string[] {
  const others = readPatterns(other);
  const both = readPatterns(one).flatMap((each) => others.flatMap((pattern) => findCommon(each, pattern) ?? []));
  return [...new Set(both)];
}

function readPatterns(texts: readonly string[]): readonly NamePattern[] {
  return texts.map(findNamePattern).filter((pattern) => pattern !== undefined);
}

/** What two patterns have in common: the narrower one, or nothing. */
function findCommon(one: NamePattern, other: NamePattern): string | undefined {
  if (one.port !== undefined && other.port !== undefined && one.port !== other.port) return undefined;
  const port = one.port ?? other.port;
  if (isWithin(one, other)) return formatPattern({ ...one, port });
  return isWithin(other, one) ? formatPattern({ ...other, port }) : undefined;
}

/** Whether the outer pattern has every name of the inner one, ports aside. */
function isWithin(inner: NamePattern, outer: NamePattern): boolean {
  if (!outer.isWildcard) return !inner.isWildcard && inner.name === outer.name;
  if (outer.name === '' || inner.name.endsWith(`.${outer.name}`)) return true;
  return inner.isWildcard && inner.name === outer.name;
}
