/** Matches our metrics, the metrics of our processes, and the series that our rules record. */
const METRIC = /(?<![\w"$:])((?:sandlot|agent_sandbox|process|nodejs)[\w:]*)(\{[^}]*\})?/g;

/** Finds the vector selectors in PromQL: `metric{matchers}`, without ranges. No label has such a name. */
export function listSelectors(expr: string): readonly string[] {
  return [...expr.matchAll(METRIC)].map(([, metric = '', matchers = '']) => `${metric}${matchers}`);
}
