import type { SandboxTemplateSpec, VolumeClaimTemplate } from '../objects.ts';

/** The volumes of a claim and those of its template. */
export interface VolumeRequest {
  readonly template: readonly VolumeClaimTemplate[];
  readonly claim: readonly VolumeClaimTemplate[];
  readonly policy: SandboxTemplateSpec['volumeClaimTemplatesPolicy'];
}

/** `refused` carries the whole message of reason VolumeClaimTemplatesError. */
export type VolumeOutcome =
  | { readonly kind: 'merged'; readonly volumeClaimTemplates: VolumeClaimTemplate[] }
  | { readonly kind: 'refused'; readonly message: string };

/**
 * The volumes of a cold start: the template's, with the claim's added or in their place as the policy allows
 * (docs/reference/sandbox-claim.md#volumes).
 */
export function mergeVolumeClaimTemplates(request: VolumeRequest): VolumeOutcome {
  const message = refusal(request);
  if (message !== undefined) return { kind: 'refused', message };
  const { template, claim } = request;
  const byName = new Map([...template, ...claim].map((volume) => [getName(volume), volume]));
  return { kind: 'merged', volumeClaimTemplates: [...byName.values()] };
}

function refusal({ template, claim, policy }: VolumeRequest): string | undefined {
  const inTemplate = findNamesProblem(template);
  if (claim.length === 0) {
    return inTemplate === undefined ? undefined : `invalid volume claim templates in template: ${inTemplate}`;
  }
  const detail = findPolicyProblem({ template, claim, policy }, inTemplate);
  return detail === undefined ? undefined : `failed to merge volume claim templates: ${detail}`;
}

function findPolicyProblem(
  { template, claim, policy }: VolumeRequest,
  inTemplate: string | undefined,
): string | undefined {
  if (policy !== 'Allowed' && policy !== 'Overrides') return 'volume claim templates are disallowed by the template';
  const inClaim = findNamesProblem(claim);
  if (inClaim !== undefined) return `claim: ${inClaim}`;
  if (inTemplate !== undefined) return `template: ${inTemplate}`;
  if (policy === 'Overrides') return undefined;
  const taken = new Set(template.map(getName));
  const overridden = claim.map(getName).find((name) => taken.has(name));
  if (overridden === undefined) return undefined;
  return `overriding volume claim templates is forbidden by the template: cannot override template volume "${overridden}"`;
}

function findNamesProblem(volumes: readonly VolumeClaimTemplate[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, volume] of volumes.entries()) {
    const name = getName(volume);
    if (name === '') return `invalid volume claim templates: name at index ${index} is empty`;
    if (seen.has(name)) return `invalid volume claim templates: duplicate name "${name}"`;
    seen.add(name);
  }
  return undefined;
}

function getName(volume: VolumeClaimTemplate): string {
  return volume.metadata?.name ?? '';
}
