import {
  buildProxyRule,
  findEgressBlock,
  findNamePattern,
  formatTemplateEgress,
  getEgressMode,
  narrowEgress,
  readPolicyEgress,
} from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import { buildProofRule } from './rules.ts';
import type { Rules } from './rules.ts';
import type { NetworkSettings } from './settings.ts';

type Egress = Rules['egress'];

/** What `spec.egress.allow` of a template says. */
export interface AllowList {
  readonly names: readonly string[];
  readonly blocks: readonly string[];
  /** The first entry that is none of both; then the list allows nothing. */
  readonly invalid?: string | undefined;
}

/** Reads the list. One with a mistake allows nothing: its author meant something else than what is left of it. */
export function readAllowList({ spec }: SandboxTemplate): AllowList {
  const read = (spec.egress?.allow ?? []).map((text) => ({
    text,
    block: findEgressBlock(text),
    name: findNamePattern(text)?.text,
  }));
  const invalid = read.find(({ block, name }) => block === undefined && name === undefined);
  if (invalid !== undefined) return { names: [], blocks: [], invalid: invalid.text };
  return {
    blocks: read.flatMap(({ block }) => block ?? []),
    names: read.flatMap(({ block, name }) => (block === undefined ? (name ?? []) : [])),
  };
}

/**
 * The egress rules of the template's policy. `base` are those of a template that is Direct. A Proxied template is closed but
 * for addresses of its list and the proxy, also where no proxy runs.
 */
export function withEgressProxy(template: SandboxTemplate, base: Egress, settings: NetworkSettings): Egress {
  const proxy = settings.egressProxy === undefined ? [] : [buildProxyRule(settings.egressProxy)];
  if (isProxied(template, settings) && !isObserved(template, settings)) {
    const { blocks } = readAllowList(template);
    const wish = { allowInternetAccess: false, allowOut: blocks, denyOut: [] };
    return [...(narrowEgress(base, wish) as Egress), ...proxy];
  }
  return getEgressMode(template, settings.egressMode) === 'Direct' ? base : [...base, ...proxy];
}

/** The ingress rules of the template's policy: the proxy asks the sandbox who it is before a request carries a credential. */
export function withProofRule(
  template: SandboxTemplate,
  base: Rules['ingress'],
  { egressMode, egressProxy }: NetworkSettings,
): Rules['ingress'] {
  const isSteered = egressProxy !== undefined && getEgressMode(template, egressMode) !== 'Direct';
  return isSteered ? [...base, buildProofRule(egressProxy)] : base;
}

/**
 * The annotation by which the egress proxy learns what a template says; undefined for one that is Direct. `within` are the
 * addresses to which its names may lead: those of the rules that the policy itself no longer has.
 */
export function formatEgressNote(
  template: SandboxTemplate,
  base: Egress,
  { egressMode }: NetworkSettings,
): string | undefined {
  const mode = getEgressMode(template, egressMode);
  if (mode === 'Direct') return undefined;
  const { rules } = template.spec.egress ?? {};
  if (mode === 'OnDemand') return formatTemplateEgress({ mode, rules });
  const isObserved = template.spec.egress?.enforcement === 'Observed' ? { isObserved: true } : {};
  return formatTemplateEgress({
    mode,
    names: readAllowList(template).names,
    within: readPolicyEgress(base),
    rules,
    ...isObserved,
  });
}

/** While a list is observed nothing is refused. That needs the proxy, which reports what the list would have refused. */
function isObserved({ spec }: SandboxTemplate, { egressProxy }: NetworkSettings): boolean {
  return spec.egress?.enforcement === 'Observed' && egressProxy !== undefined;
}

/** A template that asks for Proxied is closed also where the installation has no proxy. */
function isProxied(template: SandboxTemplate, { egressMode }: NetworkSettings): boolean {
  return template.spec.egress?.mode === 'Proxied' || getEgressMode(template, egressMode) === 'Proxied';
}
