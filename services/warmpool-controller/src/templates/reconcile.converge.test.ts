import { networkPolicies } from '@sandlot/kube';
import type { TestController } from '@sandlot/service-testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hasSameSpec } from './network/difference.ts';
import { buildRules, buildTemplatePolicy } from './network/policy.ts';
import { NETWORK, TemplateHarness } from '../../test/template-harness.ts';

const WRITE = { user: 'warmpool-controller' };

/** What users, crashes and the network do. */
const actions = {
  'the template uses the default rules': (harness) => harness.edit((spec) => delete spec.networkPolicy),
  'the template has rules': (harness) =>
    harness.edit((spec) => (spec.networkPolicy = { egress: [{ ports: [{ port: 443 }] }] })),
  'the template denies everything': (harness) => harness.edit((spec) => (spec.networkPolicy = {})),
  'the template becomes Unmanaged': (harness) => harness.edit((spec) => (spec.networkPolicyManagement = 'Unmanaged')),
  'the template becomes Managed': (harness) => harness.edit((spec) => (spec.networkPolicyManagement = 'Managed')),
  'the policy is deleted': (harness) => harness.removePolicy(),
  'the policy is opened': (harness) =>
    harness.changePolicy((policy) => (policy.spec = { podSelector: {}, ingress: [{}] })),
  'the policy selects fewer pods': (harness) =>
    harness.changePolicy(({ spec }) => spec !== undefined && (spec.podSelector = { matchLabels: { app: 'a' } })),
  'the template is created again': (harness) => harness.recreateTemplate(),
  'a write is lost': (harness) => harness.api.faults.failNext({ match: WRITE, answer: 'reset' }),
  'a write is committed but fails': (harness) =>
    harness.api.faults.errorAfterCommit({ match: WRITE, answer: { status: 500 } }),
  'watches drop': (harness) => harness.api.faults.dropWatches(),
  'time passes': (harness) => harness.elapse(200),
} satisfies Record<string, (harness: TemplateHarness) => unknown>;

type Action = keyof typeof actions | 'the controller crashes' | 'a second controller starts';
const names = Object.keys(actions) as (keyof typeof actions)[];
const action = fc.constantFrom<Action>(...names, 'the controller crashes', 'a second controller starts');

async function run(harness: TemplateHarness, script: readonly Action[]): Promise<void> {
  const controllers: TestController[] = [harness.startController()];
  for (const step of script) {
    if (step === 'a second controller starts') controllers.push(harness.startController());
    else if (step === 'the controller crashes') {
      const [first] = controllers.splice(0, 1);
      if (first !== undefined) await harness.kill(first);
    } else await actions[step](harness);
    await harness.elapse(20);
  }
  if (controllers.length === 0) harness.startController();
}

function expectConverged(harness: TemplateHarness): void {
  const template = harness.template();
  const found = harness.api.objects(networkPolicies);
  const generation = template.metadata.generation ?? 0;
  expect(template.status?.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([
    generation,
    generation,
  ]);
  if (template.spec.networkPolicyManagement === 'Unmanaged') {
    expect(found).toEqual([]);
    return;
  }
  const [policy] = found;
  const wanted = buildTemplatePolicy(template, buildRules(template, NETWORK));
  const { labels, annotations, ownerReferences = [] } = policy?.metadata ?? {};
  expect({ labels, annotations, ownerReferences }).toMatchObject({
    labels: wanted.metadata.labels,
    annotations: wanted.metadata.annotations,
    ownerReferences: [],
  });
  expect(hasSameSpec(policy?.spec ?? {}, wanted.spec)).toBe(true);
  expect(harness.conditions()).toEqual(['Accepted=True/Accepted', 'NetworkPolicyReady=True/Applied']);
}

it('converges to the policy that the template asks for, whatever happens meanwhile', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 8 }), async (script) => {
      await using harness = await TemplateHarness.start();
      harness.createTemplate();
      await run(harness, script);
      await harness.eventually(() => expectConverged(harness));
      await harness.elapse(3_000);
      expectConverged(harness);
      const before = harness.writes().length;
      await harness.elapse(3_000);
      expect(harness.writes()).toHaveLength(before);
    }),
    { numRuns: 20 },
  );
});
