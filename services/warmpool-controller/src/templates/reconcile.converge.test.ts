import { networkPolicies } from '@sandlot/kube';
import type { TestController } from '@sandlot/service-testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sameSpec } from './network/difference.ts';
import { rulesOf, templatePolicy } from './network/policy.ts';
import { NETWORK, TemplateWorld } from '../../test/template-harness.ts';

const WRITE = { user: 'warmpool-controller' };

/** What people, crashes and the network do. */
const actions = {
  'the default rules are chosen': (world) => world.edit((spec) => delete spec.networkPolicy),
  'rules are chosen': (world) => world.edit((spec) => (spec.networkPolicy = { egress: [{ ports: [{ port: 443 }] }] })),
  'everything is denied': (world) => world.edit((spec) => (spec.networkPolicy = {})),
  'nobody manages it': (world) => world.edit((spec) => (spec.networkPolicyManagement = 'Unmanaged')),
  'it is managed': (world) => world.edit((spec) => (spec.networkPolicyManagement = 'Managed')),
  'the policy is deleted': (world) => world.removePolicy(),
  'the policy is opened': (world) => world.changePolicy((policy) => (policy.spec = { podSelector: {}, ingress: [{}] })),
  'the policy selects fewer pods': (world) =>
    world.changePolicy(({ spec }) => spec !== undefined && (spec.podSelector = { matchLabels: { app: 'a' } })),
  'a write is lost': (world) => world.api.faults.failNext({ match: WRITE, answer: 'reset' }),
  'a write fails although it is done': (world) =>
    world.api.faults.errorAfterCommit({ match: WRITE, answer: { status: 500 } }),
  'watches drop': (world) => world.api.faults.dropWatches(),
  'time passes': (world) => world.elapse(200),
} satisfies Record<string, (world: TemplateWorld) => unknown>;

type Action = keyof typeof actions | 'the controller dies' | 'another controller works too';
const names = Object.keys(actions) as (keyof typeof actions)[];
const action = fc.constantFrom<Action>(...names, 'the controller dies', 'another controller works too');

async function run(world: TemplateWorld, script: readonly Action[]): Promise<void> {
  const controllers: TestController[] = [world.startController()];
  for (const step of script) {
    if (step === 'another controller works too') controllers.push(world.startController());
    else if (step === 'the controller dies') {
      const [first] = controllers.splice(0, 1);
      if (first !== undefined) await world.kill(first);
    } else await actions[step](world);
    await world.elapse(20);
  }
  if (controllers.length === 0) world.startController();
}

function expectConverged(world: TemplateWorld): void {
  const template = world.template();
  const found = world.api.objects(networkPolicies);
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
  const wanted = templatePolicy(template, rulesOf(template, NETWORK));
  expect(policy?.metadata.ownerReferences).toEqual(wanted.metadata.ownerReferences);
  expect(sameSpec(policy?.spec ?? {}, wanted.spec)).toBe(true);
  expect(world.conditions()).toEqual(['Accepted=True/Accepted', 'NetworkPolicyReady=True/Applied']);
}

it('the policy becomes what the template asks for, whatever happens on the way', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 8 }), async (script) => {
      await using world = await TemplateWorld.start();
      world.createTemplate();
      await run(world, script);
      await world.eventually(() => expectConverged(world));
      await world.elapse(3_000);
      expectConverged(world);
      const before = world.writes().length;
      await world.elapse(3_000);
      expect(world.writes()).toHaveLength(before);
    }),
    { numRuns: 20 },
  );
});
