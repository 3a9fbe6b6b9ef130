import { findReservedProblem, getEgressMode, headerRules, templateReasons } from '@sandlot/api-types';
import type { EgressMode, SandboxTemplate } from '@sandlot/api-types';
import type { Finding, TemplateSnapshot } from '../plan/snapshot.ts';
import { readAllowList } from './egress.ts';

/** Whether names work as the template says; undefined where neither it nor the installation says anything of names. */
export function checkEgress({
  template,
  network,
}: Pick<TemplateSnapshot, 'template' | 'network'>): Finding | undefined {
  const { egressMode, hasEgressRules = false } = network;
  const { mode: asked, enforcement } = template.spec.egress ?? {};
  if (egressMode === undefined) {
    return asked === undefined || asked === 'Direct' ? undefined : no(templateReasons.proxyMissing, MISSING);
  }
  const mode = getEgressMode(template, egressMode);
  const problem = findListProblem(template) ?? findRulesProblem(template, mode, hasEgressRules);
  if (problem !== undefined) return no(templateReasons.invalidEgress, problem);
  const observed = enforcement === 'Observed' ? '; the list is observed and refuses nothing' : '';
  return mode === 'Direct'
    ? yes(templateReasons.direct, 'Sandboxes reach addresses alone, and claims that list names are refused')
    : yes(templateReasons.applied, `Names are led to the egress proxy, mode ${mode}${observed}`);
}

/** What is wrong with `egress.allow`. */
function findListProblem(template: SandboxTemplate): string | undefined {
  const { invalid } = readAllowList(template);
  return invalid === undefined ? undefined : formatInvalid(invalid);
}

/** What is wrong with `egress.rules`. While it is, the sandboxes of the template reach no name. */
function findRulesProblem({ spec }: SandboxTemplate, mode: EgressMode, isAvailable: boolean): string | undefined {
  const { rules = [] } = spec.egress ?? {};
  if (rules.length === 0) return undefined;
  if (!isAvailable) return NO_RULES;
  if (mode === 'Direct') return 'egress.rules needs egress.mode OnDemand or Proxied, and this template is Direct';
  const [issue] = headerRules.safeParse(rules).error?.issues ?? [];
  if (issue === undefined) return undefined;
  return `egress.rules cannot be read, so that no name is reached until it is corrected: ${formatPlace(issue.path)}${issue.message}`;
}

/** `rule 2, headers 1: ` with numbers from 1, as people count. */
function formatPlace(path: readonly PropertyKey[]): string {
  const parts = path.map((part) => (typeof part === 'number' ? part + 1 : String(part)));
  return parts.length === 0 ? '' : `rule ${parts.join(' ')}: `;
}

const NO_RULES =
  'egress.rules needs the chart value egress.credentials.enabled=true; until then no request to these hosts passes';

const MISSING =
  'egress.mode asks for the egress proxy, and this installation has none; set the chart value egress.enabled=true. Until then no name is reached by Proxied, and claims that list names are refused';

function formatInvalid(entry: string): string {
  const reason =
    findReservedProblem(entry) ??
    'it is neither a name such as example.com or *.example.com:8443, nor an address or a block of addresses';
  return `egress.allow allows nothing until ${JSON.stringify(entry)} is corrected: ${reason}`;
}

function no(reason: string, message: string): Finding {
  return { status: 'False', reason, message };
}

function yes(reason: string, message: string): Finding {
  return { status: 'True', reason, message };
}
