import { getEgressMode, templateReasons } from '@sandlot/api-types';
import type { Finding, TemplateSnapshot } from '../plan/snapshot.ts';
import { readAllowList } from './egress.ts';

/** Whether names work as the template says; undefined where neither it nor the installation says anything of names. */
export function checkEgress({
  template,
  network: { egressMode },
}: Pick<TemplateSnapshot, 'template' | 'network'>): Finding | undefined {
  const asked = template.spec.egress?.mode;
  if (egressMode === undefined && (asked === undefined || asked === 'Direct')) return undefined;
  if (egressMode === undefined) return no(templateReasons.proxyMissing, MISSING);
  const { invalid } = readAllowList(template);
  if (invalid !== undefined) return no(templateReasons.invalidEgress, formatInvalid(invalid));
  const mode = getEgressMode(template, egressMode);
  const observed = template.spec.egress?.enforcement === 'Observed' ? '; the list is observed and refuses nothing' : '';
  return mode === 'Direct'
    ? yes(templateReasons.direct, 'Sandboxes reach addresses alone, and claims that list names are refused')
    : yes(templateReasons.applied, `Names are led to the egress proxy, mode ${mode}${observed}`);
}

const MISSING =
  'egress.mode asks for the egress proxy, and this installation has none; set the chart value egress.enabled=true. Until then no name is reached by Proxied, and claims that list names are refused';

function formatInvalid(entry: string): string {
  return `egress.allow allows nothing until it is corrected: ${JSON.stringify(entry)} is neither a name such as example.com or *.example.com:8443, nor an address or a block of addresses`;
}

function no(reason: string, message: string): Finding {
  return { status: 'False', reason, message };
}

function yes(reason: string, message: string): Finding {
  return { status: 'True', reason, message };
}
