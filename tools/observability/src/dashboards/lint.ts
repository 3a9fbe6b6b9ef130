import type { GrafanaDashboard, GrafanaPanel } from './grafana.ts';
import { listSelectors } from '../selectors.ts';

/** Checks a dashboard against common rules for Grafana dashboards and returns the findings. */
export function lintDashboard(dashboard: GrafanaDashboard): readonly string[] {
  return [
    ...lintIdentity(dashboard),
    ...lintVariables(dashboard),
    ...dashboard.panels.flatMap(lintPanel),
    ...lintGrid(dashboard.panels),
  ];
}

function lintIdentity({ uid, title, schemaVersion, panels }: GrafanaDashboard): string[] {
  const ids = panels.map(({ id }) => id);
  const findings: string[] = [];
  if (!/^[a-z0-9-]{1,40}$/.test(uid)) findings.push('its uid is missing or cannot be in a link');
  if (title === '') findings.push('it has no title');
  if (!Number.isInteger(schemaVersion) || schemaVersion < 36) findings.push('its schemaVersion is missing or old');
  if (new Set(ids).size !== ids.length) findings.push('two panels have the same id');
  return findings;
}

/** Name and type of the variables that every dashboard needs. */
const REQUIRED = { datasource: 'datasource', job: 'query', instance: 'query' } as const;

function lintVariables({ templating: { list } }: GrafanaDashboard): string[] {
  return Object.entries(REQUIRED)
    .filter(([name, type]) => !list.some((variable) => variable.name === name && variable.type === type))
    .map(([name]) => `it has no template variable ${name}`);
}

function lintPanel(panel: GrafanaPanel): string[] {
  if (panel.type === 'row') return [];
  const { id, title, description = '', fieldConfig, datasource, targets = [] } = panel;
  const rules: readonly (readonly [boolean, string])[] = [
    [title !== '', 'has no title'],
    [description !== '', 'has no description'],
    [(fieldConfig?.defaults.unit ?? '') !== '', 'has no unit'],
    [datasource?.uid === '${datasource}', 'does not use the template variable datasource'],
    [targets.length > 0, 'has no query'],
  ];
  const broken = rules.filter(([holds]) => !holds).map(([, finding]) => finding);
  return [...broken, ...targets.flatMap(({ expr }) => lintQuery(expr))].map(
    (finding) => `panel ${id} "${title}" ${finding}`,
  );
}

function lintQuery(expr: string): string[] {
  const selectors = listSelectors(expr);
  const blind = selectors
    .filter((selector) => !selector.includes('job=~"$job"') || !selector.includes('instance=~"$instance"'))
    .map((selector) => `does not select by job and instance: ${selector}`);
  // Brackets outside quotes enclose ranges. Brackets inside quotes belong to regular expressions of matchers.
  const ranges = [...expr.replaceAll(/"[^"]*"/g, '').matchAll(/\[[^\]]*\]/g)]
    .filter(([range]) => range !== '[$__rate_interval]')
    .map(([range]) => `takes ${range} instead of $__rate_interval`);
  return [...blind, ...ranges, ...lintReplicas(expr, selectors)];
}

/** Gauges of objects. One process exports each series, and two while the work on the object moves. */
const ONCE =
  /^(sandlot_warmpool_(members|target|claimed|short_seconds|idle_\w+)|sandlot_claims_waiting\w*|agent_sandboxes)$/;

const AGGREGATION = /\b(sum|max|min|avg|count)\s*((by|without)\s*\([^()]*\)\s*)?$/;

/** Finds what is wrong as soon as several processes of a controller work at the same time. */
function lintReplicas(expr: string, selectors: readonly string[]): string[] {
  let from = 0;
  return selectors.flatMap((selector) => {
    const at = expr.indexOf(selector, from);
    from = at + selector.length;
    const around = listOpenCalls(expr.slice(0, at));
    if (!around.some((call) => AGGREGATION.test(call))) return [`does not aggregate over processes: ${selector}`];
    const isOnce = ONCE.test(selector.replace(/\{.*/s, ''));
    const [, operator] = AGGREGATION.exec(around.at(-1) ?? '') ?? [];
    return isOnce && operator !== 'max'
      ? [`counts an object twice while it moves to another process: ${selector}`]
      : [];
  });
}

/** What stands before each parenthesis that is still open at the end of the text. */
function listOpenCalls(text: string): readonly string[] {
  const open: string[] = [];
  for (const { 0: paren, index } of text.matchAll(/[()]/g)) {
    if (paren === '(') open.push(text.slice(0, index));
    else open.pop();
  }
  return open;
}

function lintGrid(panels: readonly GrafanaPanel[]): string[] {
  const findings: string[] = [];
  for (const [index, { gridPos: a, title }] of panels.entries()) {
    if (a.x < 0 || a.x + a.w > 24) findings.push(`panel "${title}" leaves the grid`);
    for (const { gridPos: b, title: other } of panels.slice(index + 1)) {
      const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
      if (!apart) findings.push(`panels "${title}" and "${other}" overlap`);
    }
  }
  return findings;
}
