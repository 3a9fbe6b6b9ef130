/** Base URL of the runbooks. The chart replaces it by its value `metrics.rules.runbookUrl`. */
export const RUNBOOKS = 'https://github.com/sandlot/sandlot/blob/main/docs/runbooks';

export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface AlertingRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: 'critical' | 'warning' };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

export interface RuleGroup {
  readonly name: string;
  readonly rules: readonly (RecordingRule | AlertingRule)[];
}

interface AlertInput extends Omit<AlertingRule, 'annotations' | 'labels'> {
  readonly severity: AlertingRule['labels']['severity'];
  readonly summary: string;
  readonly description: string;
  /** Name of the page in `docs/runbooks`, without `.md`. */
  readonly runbook: string;
}

/** Creates an alert with a link to its runbook. */
export function createAlert({
  alert: name,
  expr,
  for: lasting,
  severity,
  summary,
  description,
  runbook,
}: AlertInput): AlertingRule {
  return {
    alert: name,
    expr,
    ...(lasting === undefined ? {} : { for: lasting }),
    labels: { severity },
    annotations: { summary, description, runbook_url: `${RUNBOOKS}/${runbook}.md` },
  };
}
