// What the Go sources of agent-sandbox declare, read as text: a check of names needs no compiler.
import { listMatches } from '../read.ts';

/** Condition types and reasons: constants, and literals that a controller sets. */
export function listWords(source: string): readonly string[] {
  return listMatches(source, /\w*(?:Condition|[rR]eason)\w*(?: ConditionType)?\s*(?::=|=|:)\s*"([A-Z]\w+)"/g);
}

/** The reasons of Events that a controller records; constants are resolved by `declarations`. */
export function listEventReasons(source: string, declarations: string): readonly string[] {
  const values = new Map(
    [...declarations.matchAll(/(\w+)\s*=\s*"(\w+)"/g)].map(([, name = '', value]) => [name, value]),
  );
  return listMatches(source, /\.Eventf\([^,]+, [^,]+, [^,]+, ("\w+"|[\w.]+),/g).map((reason) => {
    if (reason.startsWith('"')) return reason.slice(1, -1);
    const value = values.get(reason.slice(reason.lastIndexOf('.') + 1));
    if (value === undefined) throw new Error(`the reason ${reason} is no constant of the sources`);
    return value;
  });
}

/** Names of metrics. */
export function listMetrics(source: string): readonly string[] {
  return listMatches(source, /"(agent_sandbox\w+)"/g);
}

/** Exported functions, and exported methods of exported types as `Type.Method`. */
export function listFunctions(source: string): readonly string[] {
  return listMatches(source, /^func ((?:\(\w+ \*?[A-Z]\w*\) )?[A-Z]\w*)[([]/gm).map((head) =>
    head.replace(/^\(\w+ \*?(\w+)\) /, '$1.'),
  );
}
