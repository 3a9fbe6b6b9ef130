import type { Secret } from '@sandlot/config';
import type { Level } from '../lines.ts';
import { buildLevelPattern } from '../marks.ts';

/** Where logs of sandboxes are kept beyond their Pods, as the operator describes it: a store with the query API of Loki. */
export interface StoreSettings {
  readonly url: string;
  /** Value of X-Scope-OrgID; undefined: the store has no tenants. */
  readonly tenant: string | undefined;
  /** Value of the header Authorization. */
  readonly authorization: Secret | undefined;
  /** Names of the labels with the namespace and the name of the Pod. */
  readonly namespaceLabel: string;
  readonly podLabel: string;
  /** Labels with values that all logs of sandboxes have. */
  readonly selector: Readonly<Record<string, string>>;
}

/** The log of one Pod. */
export interface PodOfLog {
  readonly namespace: string;
  readonly pod: string;
}

export interface StoredPart extends PodOfLog {
  /** Epoch milliseconds, the first one inclusive. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly direction: 'forward' | 'backward';
  readonly limit: number;
  /** What each line contains; empty: anything. */
  readonly search: string;
  /** The least level; lines of containers have the level info. */
  readonly level: Level;
}

/** The labels, with their values, that each stream of the Pod has. */
export function buildLabels(
  { namespaceLabel, podLabel, selector }: StoreSettings,
  { namespace, pod }: PodOfLog,
): ReadonlyMap<string, string> {
  return new Map([...Object.entries(selector), [namespaceLabel, namespace], [podLabel, pod]]);
}

/** The parameters of `query_range`. */
export function buildQuery(settings: StoreSettings, part: StoredPart): URLSearchParams {
  const matchers = [...buildLabels(settings, part)].map(([name, value]) => `${name}=${quote(value)}`);
  const pattern = buildLevelPattern(part.level);
  const ofLevel = pattern === undefined ? '' : ` |~ ${quote(pattern)}`;
  const filter = part.search === '' ? '' : ` |= ${quote(part.search)}`;
  return new URLSearchParams({
    query: `{${matchers.join(',')}}${ofLevel}${filter}`,
    start: `${part.fromMs}000000`,
    end: `${part.untilMs}000000`,
    limit: String(part.limit),
    direction: part.direction,
  });
}

/**
 * A text of LogQL. LogQL reads texts as Go does, and Go knows each escape that JSON writes; lone surrogates, which Go refuses, are no
 * characters that a query or a name can have.
 */
function quote(text: string): string {
  return JSON.stringify(text.toWellFormed());
}
