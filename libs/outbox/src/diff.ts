import { formatFactName } from './fact.ts';
import type { AnyFact } from './fact.ts';

/** The record of one object. */
export interface Recorded {
  /** Names of the published facts. */
  readonly facts: readonly string[];
  /** The stream that had them is lost: facts that still hold are published again. */
  readonly again?: boolean | undefined;
}

export interface Difference {
  /** Facts to publish, in order. */
  readonly news: readonly AnyFact[];
  /** Names to record afterwards. Facts that no longer hold stay only while another fact comes after them. */
  readonly facts: readonly string[];
}

/** Compares the facts of an object's state with its record. */
export function diff({ facts: recorded, again = false }: Recorded, facts: readonly AnyFact[]): Difference {
  const published = new Set(recorded);
  const names = new Set<string>();
  const news: AnyFact[] = [];
  for (const fact of facts) {
    const name = formatFactName(fact);
    if (fact.after !== undefined && published.has(fact.after)) names.add(fact.after);
    if (!published.has(name) && isEarly(fact, names)) continue;
    if (again || !published.has(name)) news.push(fact);
    names.add(name);
  }
  return { news, facts: [...names] };
}

/** Whether the fact comes after another one that is not recorded. */
function isEarly({ after }: AnyFact, names: ReadonlySet<string>): boolean {
  return after !== undefined && !names.has(after);
}
