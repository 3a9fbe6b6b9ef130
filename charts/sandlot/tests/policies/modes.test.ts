import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chartFolder, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';

interface Binding {
  readonly policyName: string;
  readonly validationActions: readonly string[];
  readonly matchResources?: {
    readonly namespaceSelector: { readonly matchExpressions: readonly { key: string; operator: string; values: string[] }[] };
  };
}

async function renderKinds(values: object): Promise<readonly (readonly Rendered[])[]> {
  const objects = await render(values);
  return ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'].map((name) =>
    objects.filter(({ kind }) => kind === name),
  );
}

const renderBindings = async (values: object): Promise<Binding[]> =>
  ((await renderKinds(values))[1] ?? []).map(({ spec }) => spec as unknown as Binding);

describe('the admission policies', () => {
  it.each([
    [{}, ['Deny', 'Audit']],
    [{ mode: 'enforce' }, ['Deny', 'Audit']],
    [{ mode: 'warn' }, ['Warn', 'Audit']],
    [{ mode: 'audit' }, ['Audit']],
  ])('with %j act by %j', async (policies, actions) => {
    const bindings = await renderBindings({ policies });
    expect(bindings.length).toBeGreaterThan(0);
    for (const { validationActions } of bindings) expect(validationActions).toEqual(actions);
  });

  it('are not rendered with mode off', async () => {
    expect(await renderKinds({ policies: { mode: 'off' } })).toEqual([[], []]);
  });

  it('have a binding each, and refuse what they cannot judge', async () => {
    const [policies = [], bindings = []] = await renderKinds({});
    const names = policies.map(({ metadata }) => metadata.name);
    expect(bindings.map(({ metadata }) => metadata.name)).toEqual(names);
    expect((await renderBindings({})).map(({ policyName }) => policyName)).toEqual(names);
    for (const { spec } of policies) expect(spec).toMatchObject({ failurePolicy: 'Fail' });
  });

  it('let a namespace be exempt from rules on what is in a sandbox, and from no others', async () => {
    const exemptible = (await renderBindings({})).filter(({ matchResources }) =>
      matchResources?.namespaceSelector.matchExpressions.some(({ key }) => key === 'sandlot.dev/policy-exempt'),
    );
    const names = ['sandboxes', 'claims', 'sandbox-pods', 'sandbox-pod-metadata'].map((name) => `sandlot-${name}`);
    expect(exemptible.map(({ policyName }) => policyName).sort()).toEqual(names.sort());
  });

  it.each([
    ['one namespace', { watchNamespace: 'team-a' }, ['team-a']],
    ['several namespaces', { watchNamespaces: ['team-a', 'team-b'] }, ['team-a', 'team-b']],
  ])('concern %s if the release serves no others', async (_, served, values) => {
    const bindings = await renderBindings(served);
    expect(bindings.length).toBeGreaterThan(0);
    for (const { matchResources } of bindings) {
      expect(matchResources?.namespaceSelector.matchExpressions).toContainEqual({
        key: 'kubernetes.io/metadata.name',
        operator: 'In',
        values,
      });
    }
  });

  it('are explained rule by rule', async () => {
    const page = await readFile(join(chartFolder, '../../docs/security/admission-policies.md'), 'utf8');
    const [policies = []] = await renderKinds({ policies: { pods: { runtimeClasses: ['gvisor'] } } });
    const rules = new Set([...JSON.stringify(policies).matchAll(/\(rule ([a-z-]+) of /g)].map(([, rule]) => rule));
    expect(rules.size).toBeGreaterThan(8);
    for (const rule of rules) expect(page).toContain(`### ${rule}\n`);
  });
});
