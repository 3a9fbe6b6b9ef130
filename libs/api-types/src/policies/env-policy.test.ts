import { describe, expect, it } from 'vitest';
import { injectEnv, findRuntimeEnvRefusal } from './env-policy.ts';
import type { EnvRequest } from './env-policy.ts';
import type { PodSpec } from '../generated/core.ts';

const podSpec: PodSpec = {
  initContainers: [{ name: 'setup' }],
  containers: [
    { name: 'main', env: [{ name: 'MODE', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
    { name: 'helper', envFrom: [{ secretRef: { name: 'keys' } }] },
  ],
};
const A = { name: 'A', value: '1' };

function detail(part: Partial<EnvRequest>): string | undefined {
  const outcome = injectEnv({ env: [A], podSpec, policy: 'Allowed', ...part });
  return outcome.kind === 'refused' ? outcome.detail : undefined;
}

function injected(part: Partial<EnvRequest>): PodSpec | undefined {
  const outcome = injectEnv({ env: [A], podSpec, policy: 'Allowed', ...part });
  return outcome.kind === 'injected' ? outcome.podSpec : undefined;
}

describe('injectEnv', () => {
  it.each([['Disallowed' as const], [undefined]])('refuses any entry under policy %s', (policy) => {
    expect(detail({ policy })).toBe('environment variable injection is not allowed by the template policy');
  });

  it('does not apply the policy to a claim without variables', () => {
    expect(injected({ env: [], policy: 'Disallowed' })).toEqual(podSpec);
  });

  it('appends a new name to the first container, and changes nothing else', () => {
    const [main, helper] = injected({})?.containers ?? [];
    expect(main?.env).toEqual([...(podSpec.containers[0]?.env ?? []), A]);
    expect(helper).toEqual(podSpec.containers[1]);
    expect(podSpec.containers[0]?.env).toHaveLength(1);
  });

  it('reaches init containers by name', () => {
    expect(injected({ env: [{ ...A, containerName: 'setup' }] })?.initContainers).toEqual([
      { name: 'setup', env: [A] },
    ]);
  });

  it('refuses an override under Allowed', () => {
    expect(detail({ env: [{ name: 'MODE', value: 'x' }] })).toBe(
      'environment variable override is not allowed by the template policy for variable "MODE"',
    );
  });

  it('refuses a name that the claim sets twice under Allowed', () => {
    expect(detail({ env: [A, A] })).toBe(
      'environment variable override is not allowed by the template policy for variable "A"',
    );
  });

  it('replaces by a plain value, in place, under Overrides', () => {
    const spec = injected({ env: [{ name: 'MODE', value: 'x' }], policy: 'Overrides' });
    expect(spec?.containers[0]?.env).toEqual([{ name: 'MODE', value: 'x' }]);
  });

  it('refuses a container with envFrom under Allowed, accepts it under Overrides', () => {
    const env = [{ ...A, containerName: 'helper' }];
    expect(detail({ env })).toContain('container "helper" uses envFrom');
    expect(injected({ env, policy: 'Overrides' })?.containers[1]?.env).toEqual([A]);
  });

  it('refuses an unknown container under either policy', () => {
    const env = [{ ...A, containerName: 'nope' }];
    const text = 'target container "nope" not found in template for environment variable "A"';
    expect(detail({ env })).toBe(text);
    expect(detail({ env, policy: 'Overrides' })).toBe(text);
  });
});

describe('findRuntimeEnvRefusal', () => {
  const refused = (name: string, policy: EnvRequest['policy']): string | undefined =>
    findRuntimeEnvRefusal({ names: [name], podSpec, policy });

  it('does not apply the policy when there are no variables', () => {
    expect(findRuntimeEnvRefusal({ names: [], podSpec, policy: 'Disallowed' })).toBeUndefined();
  });

  it('applies the same policy to the names of the first container', () => {
    expect(refused('A', 'Disallowed')).toBe('environment variable injection is not allowed by the template policy');
    expect(refused('A', 'Allowed')).toBeUndefined();
    expect(refused('MODE', 'Allowed')).toBe(
      'environment variable override is not allowed by the template policy for variable "MODE"',
    );
    expect(refused('MODE', 'Overrides')).toBeUndefined();
  });
});
