import { nameOf } from './fact.ts';
import type { AnyFact } from './fact.ts';

/** What is recorded of one object. */
export interface Recorded {
  /** Names of the facts that have been published. */
  readonly facts: readonly string[];
  /** The stream that had them is gone: what is still a fact is published again. */
  readonly again?: boolean | undefined;
}

export interface Difference {
  /** To be published, in order. */
  readonly news: readonly AnyFact[];
  /** Names to be recorded once they are. Of what is no fact any more, only what others come after is kept. */
  readonly facts: readonly string[];
}

/** Compares what an object's state says with what was published of it. */
export function diff({ facts: recorded, again = false }: Recorded, facts: readonly AnyFact[]): Difference {
  const published = new Set(recorded);
  const names = new Set<string>();
  const news: AnyFact[] = [];
  for (const fact of facts) {
    const name = nameOf(fact);
    if (fact.after !== undefined && published.has(fact.after)) names.add(fact.after);
    if (!published.has(name) && isEarly(fact, names)) continue;
    if (again || !published.has(name)) news.push(fact);
    names.add(name);
  }
  return { news, facts: [...names] };
}

/** It comes after another fact that has not come. */
function isEarly({ after }: AnyFact, names: ReadonlySet<string>): boolean {
  return after !== undefined && !names.has(after);
}
