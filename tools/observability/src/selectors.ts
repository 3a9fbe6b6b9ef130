/** Metrics of ours, of our processes, and what our rules record. */
const METRIC = /(?<![\w"$:])((?:sandlot|agent_sandbox|process|nodejs)[\w:]*)(\{[^}]*\})?/g;

/** The vector selectors in PromQL: `metric{matchers}`, without ranges. Labels bear none of these names. */
export function selectorsOf(expr: string): readonly string[] {
  return [...expr.matchAll(METRIC)].map(([, metric = '', matchers = '']) => `${metric}${matchers}`);
}
