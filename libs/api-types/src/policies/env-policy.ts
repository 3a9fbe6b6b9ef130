import type { Container, PodSpec } from '../generated/core.ts';
import type { SandboxClaimSpec, SandboxTemplateSpec } from '../objects.ts';

type Policy = SandboxTemplateSpec['envVarsInjectionPolicy'];
type SecretReference = NonNullable<
  NonNullable<NonNullable<SandboxClaimSpec['envs']>[number]['valueFrom']>['secretKeyRef']
>;

/** A variable of a claim: a plain value, or a key of a Secret that the kubelet reads, so that Sandlot never sees its value. */
export interface ClaimVariable {
  readonly name: string;
  readonly value?: string | undefined;
  readonly valueFrom?: { readonly secretKeyRef: SecretReference } | undefined;
  readonly containerName?: string | undefined;
}

/** The container variables of a claim and the Pod spec of its template. */
export interface EnvRequest {
  readonly env: readonly ClaimVariable[];
  readonly podSpec: PodSpec;
  readonly policy: Policy;
}

/** `refused` carries the detail of reason EnvVarsInjectionRejected. */
export type EnvOutcome =
  { readonly kind: 'injected'; readonly podSpec: PodSpec } | { readonly kind: 'refused'; readonly detail: string };

const NOT_ALLOWED = 'environment variable injection is not allowed by the template policy';

/**
 * The Pod spec with a claim's variables in the containers they name, the first one by default, or why the template
 * refuses them (docs/reference/sandbox-claim.md#environment). A refusal is final until the claim or the template changes.
 */
export function injectEnv({ env, podSpec, policy }: EnvRequest): EnvOutcome {
  if (env.length === 0) return { kind: 'injected', podSpec };
  if (!isPermittedBy(policy)) return { kind: 'refused', detail: NOT_ALLOWED };
  let next = podSpec;
  for (const variable of env) {
    const target = findTarget(next, variable.containerName);
    const detail = findVariableRefusal(variable, target, policy);
    if (detail !== undefined) return { kind: 'refused', detail };
    next = withVariable(next, target, variable);
  }
  return { kind: 'injected', podSpec: next };
}

/**
 * Why variables for the in-sandbox runtime (`envs`) are refused. The same policy applies, with the names of the first
 * container. Undefined when they are accepted.
 */
export function findRuntimeEnvRefusal({ names, podSpec, policy }: RuntimeEnvRequest): string | undefined {
  if (names.length === 0) return undefined;
  if (!isPermittedBy(policy)) return NOT_ALLOWED;
  const target = findTarget(podSpec, undefined);
  for (const name of names) {
    const detail = findVariableRefusal({ name }, target, policy);
    if (detail !== undefined) return detail;
  }
  return undefined;
}

/** The names of a claim's `envs` and the Pod spec of its template. */
export interface RuntimeEnvRequest {
  readonly names: readonly string[];
  readonly podSpec: PodSpec;
  readonly policy: Policy;
}

function isPermittedBy(policy: Policy): boolean {
  return policy === 'Allowed' || policy === 'Overrides';
}

function findTarget(podSpec: PodSpec, containerName: string | undefined): Container | undefined {
  if (containerName === undefined || containerName === '') return podSpec.containers[0];
  return listAllContainers(podSpec).find((container) => container.name === containerName);
}

function listAllContainers(podSpec: PodSpec): Container[] {
  return [...(podSpec.initContainers ?? []), ...podSpec.containers];
}

function findVariableRefusal(
  { name, containerName = '' }: Pick<ClaimVariable, 'name' | 'containerName'>,
  target: Container | undefined,
  policy: Policy,
): string | undefined {
  if (target === undefined) {
    return `target container "${containerName}" not found in template for environment variable "${name}"`;
  }
  if (policy === 'Overrides') return undefined;
  if ((target.envFrom ?? []).length > 0) {
    return `container "${target.name}" uses envFrom, so the policy Allowed cannot rule out an override by variable "${name}"`;
  }
  if (target.env?.some((variable) => variable.name === name) !== true) return undefined;
  return `environment variable override is not allowed by the template policy for variable "${name}"`;
}

function withVariable(podSpec: PodSpec, target: Container | undefined, variable: ClaimVariable): PodSpec {
  const { name, value, valueFrom } = variable;
  const entry = valueFrom === undefined ? { name, value } : { name, valueFrom };
  const set = (container: Container): Container => {
    if (container !== target) return container;
    const env = container.env ?? [];
    const isNew = !env.some((present) => present.name === name);
    const kept = env.map((present) => (present.name === name ? entry : present));
    return { ...container, env: isNew ? [...kept, entry] : kept };
  };
  const { initContainers, containers } = podSpec;
  return {
    ...podSpec,
    containers: containers.map(set),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(set) }),
  };
}
