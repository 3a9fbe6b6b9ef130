import { annotations, withoutReservedKeys } from '../catalogue/keys.ts';
import { labelValueProblem, findQualifiedNameProblem } from './label-syntax.ts';
import type { PodTemplate, SandboxClaimSpec } from '../objects.ts';

type StringMap = Record<string, string>;
type TemplateMetadata = PodTemplate['metadata'];
type AdditionalPodMetadata = SandboxClaimSpec['additionalPodMetadata'];

/** Label domains a claim may use when the installation names none. */
export const DEFAULT_LABEL_DOMAINS: readonly string[] = ['sandbox.users.io'];

const RESTRICTED_DOMAINS = ['kubernetes.io', 'k8s.io', 'agents.x-k8s.io', 'sandlot.dev'];

/** The metadata of a claim and that of its template. */
export interface MetadataRequest {
  readonly additional: AdditionalPodMetadata;
  readonly template: TemplateMetadata;
  readonly allowedLabelDomains: readonly string[];
}

/**
 * Why a claim's `additionalPodMetadata` is refused: the detail of reason InvalidMetadata; undefined when it is accepted
 * (docs/reference/sandbox-claim.md#pod-metadata). Keys are checked in order, so the answer is the same on every pass.
 */
export function findMetadataRefusal({
  additional,
  template,
  allowedLabelDomains,
}: MetadataRequest): string | undefined {
  const { labels, annotations: notes } = additional ?? {};
  return (
    findFirstProblem('label', labels, (key, value) => labelProblem(key, value, allowedLabelDomains)) ??
    findFirstProblem('annotation', notes, findAnnotationProblem) ??
    findOverrideConflict('label', template?.labels, labels) ??
    findOverrideConflict('annotation', template?.annotations, notes)
  );
}

/** Metadata of a claimed Sandbox's Pod template, without the system's keys, which the caller adds. */
export function mergePodMetadata(
  template: TemplateMetadata,
  additional: AdditionalPodMetadata,
): { labels: StringMap; annotations: StringMap } {
  return {
    labels: { ...withoutReservedKeys(template?.labels), ...withoutReservedKeys(additional?.labels) },
    annotations: { ...withoutReservedKeys(template?.annotations), ...withoutReservedKeys(additional?.annotations) },
  };
}

function findFirstProblem(
  what: 'label' | 'annotation',
  map: StringMap | undefined,
  problemOf: (key: string, value: string) => string | undefined,
): string | undefined {
  for (const [key, value] of sortEntries(map)) {
    const problem = problemOf(key, value);
    if (problem !== undefined) return `failed to validate ${what} "${key}": ${problem}`;
  }
  return undefined;
}

function labelProblem(key: string, value: string, allowedDomains: readonly string[]): string | undefined {
  const syntax = findQualifiedNameProblem(key);
  if (syntax !== undefined) return `invalid label key: "${key}": ${syntax}`;
  if (key.toLowerCase() === 'app' && value.toLowerCase() === 'sandbox-router') {
    return `restricted system label value: "${key}"="${value}" is not allowed in AdditionalPodMetadata`;
  }
  const domain = findDomain(key);
  if (domain === undefined) {
    return `label "${key}" must have a domain prefix (e.g. 'sandbox.users.io/my-label') to prevent opting into unintended policy domains`;
  }
  if (!isWithin(domain, allowedDomains)) return `label domain "${domain}" is not in the allowlist`;
  const problem = labelValueProblem(value);
  return problem === undefined
    ? undefined
    : `invalid label value: "${value}" does not match allowed pattern: ${problem}`;
}

function findAnnotationProblem(key: string): string | undefined {
  const syntax = findQualifiedNameProblem(key);
  if (syntax !== undefined) return `invalid annotation key: "${key}": ${syntax}`;
  const domain = findDomain(key);
  if (key === annotations.safeToEvict || domain === undefined || !isWithin(domain, RESTRICTED_DOMAINS))
    return undefined;
  return `restricted system domain: "${key}" is not allowed in AdditionalPodMetadata`;
}

function findOverrideConflict(
  what: 'label' | 'annotation',
  template: StringMap | undefined,
  requested: StringMap | undefined,
): string | undefined {
  const stated = withoutReservedKeys(template);
  const conflict = sortEntries(requested).find(([key, value]) => Object.hasOwn(stated, key) && stated[key] !== value);
  if (conflict === undefined) return undefined;
  const [key, value] = conflict;
  const inTemplate = stated[key] ?? '';
  return `metadata override conflict: ${what} "${key}" is defined in template with value "${inTemplate}", but claim requests "${value}"`;
}

function sortEntries(map: StringMap | undefined): [string, string][] {
  return Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

function findDomain(key: string): string | undefined {
  const slash = key.indexOf('/');
  return slash === -1 ? undefined : key.slice(0, slash).toLowerCase();
}

function isWithin(domain: string, domains: readonly string[]): boolean {
  return domains.some((allowed) => domain === allowed || domain.endsWith(`.${allowed}`));
}
