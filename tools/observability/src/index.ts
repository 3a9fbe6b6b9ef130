export { creationLatency } from './creation-latency.ts';
export { toGrafana } from './grafana.ts';
export type { GrafanaDashboard, GrafanaPanel, GrafanaTarget } from './grafana.ts';
export type { Dashboard, Panel, Query, Row, Unit } from './model.ts';
export { platformHealth } from './platform-health.ts';
export { ruleGroups, RUNBOOKS } from './rules.ts';
export type { AlertingRule, RuleGroup } from './rules.ts';
export { selectorsOf } from './selectors.ts';
export { warmPools } from './warm-pools.ts';
