import {
  buildGoldenName,
  hasSignOfPool,
  isAdoptable,
  isGoldenOf,
  isMadeByExtension,
  isMemberOf,
  isPoolMember,
  isStock,
  nameHash,
} from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { claim, pool, template } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import {
  buildGoldenSandbox,
  buildMemberSandbox,
  createCurrencyTest,
  fillsSlotOf,
  getBlueprintHash,
  POD_DEFAULTS,
} from './index.ts';

const written = template({
  name: 'python',
  spec: {
    podTemplate: {
      metadata: { labels: { team: 'a', 'agents.x-k8s.io/claim-uid': 'forged' }, annotations: { note: 'n' } },
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    },
    golden: {},
    ttlSeconds: 60,
  },
});
const golden = buildGoldenName(written, getBlueprintHash(written, POD_DEFAULTS));
const made = buildGoldenSandbox(written, POD_DEFAULTS);
const build = (goldenSnapshot?: string): Sandbox =>
  buildMemberSandbox({ pool: pool(), template: written, defaults: POD_DEFAULTS, suffix: 'bcdfg', goldenSnapshot });

describe('the golden Sandbox of a template', () => {
  it('has the Pod of its members, and what names the template in place of a pool', () => {
    expect(made.metadata).toMatchObject({
      name: golden,
      labels: {
        'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('python'),
        'agents.x-k8s.io/created-by': 'controller',
        'sandlot.dev/golden': nameHash('python'),
      },
      annotations: {
        'agents.x-k8s.io/sandbox-template-ref': 'python',
        'agents.x-k8s.io/pod-name': golden,
        'sandlot.dev/network-policy': 'python-network-policy',
      },
      ownerReferences: [
        { kind: 'SandboxTemplate', uid: 'uid-default-python', controller: true, blockOwnerDeletion: false },
      ],
    });
    expect(made.spec.podTemplate.spec).toEqual(build().spec.podTemplate.spec);
    expect(made.spec.podTemplate.metadata).toEqual({
      labels: {
        team: 'a',
        'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('python'),
        'agents.x-k8s.io/created-by': 'controller',
      },
      annotations: { note: 'n' },
    });
    expect(made.spec).not.toHaveProperty('ttlSeconds');
    expect(made.spec).not.toHaveProperty('restoreFrom');
  });

  it('is of no pool and no claim, and no request reaches it', () => {
    const itsPool = pool({ spec: { sandboxTemplateRef: { name: 'python' } } });
    expect([isMemberOf(made, itsPool), isAdoptable(made, itsPool), isStock(made, itsPool), isPoolMember(made)]).toEqual(
      [false, false, false, false],
    );
    expect(fillsSlotOf(made, claim({ name: golden }))).toBe(false);
    expect(hasSignOfPool(made)).toBe(true);
    expect(isGoldenOf(made, written)).toBe(true);
  });

  it('stays unreachable, and under the network rules of its template, when the template leaves it as an orphan', () => {
    const orphan = { ...made, metadata: { ...made.metadata, ownerReferences: [] } };
    expect(hasSignOfPool(orphan)).toBe(true);
    expect(isMadeByExtension(orphan)).toBe(true);
  });
});

describe('a member that starts from a golden snapshot', () => {
  const isCurrent = createCurrencyTest(POD_DEFAULTS);
  const relabelled = { ...written.spec.podTemplate, metadata: { labels: { team: 'b' } } };

  it('has the blueprint and hash of those that boot', () => {
    const restored = build(golden);
    expect(restored.spec).toEqual({ ...build().spec, restoreFrom: { snapshotName: golden, onFailure: 'Boot' } });
    expect(restored.metadata).toEqual(build().metadata);
  });

  it('is current as one that boots is, also after a change that makes no member stale', () => {
    const changed = template({ name: 'python', spec: { ...written.spec, podTemplate: relabelled } });
    for (const one of [build(golden), build()])
      expect([isCurrent(one, written), isCurrent(one, changed)]).toEqual([true, true]);
  });

  it('is stale as one that boots is', () => {
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'debian' }] } };
    const changed = template({ name: 'python', spec: { ...written.spec, podTemplate } });
    for (const one of [build(golden), build()]) expect(isCurrent(one, changed)).toBe(false);
  });

  it('is no excuse for a member that started from any other snapshot', () => {
    const changed = template({ name: 'python', spec: { ...written.spec, podTemplate: relabelled } });
    expect(isCurrent(build('trained'), changed)).toBe(false);
    const ofNamesake = template({ name: 'python', metadata: { uid: 'before' }, spec: written.spec });
    const before = buildGoldenName(ofNamesake, getBlueprintHash(ofNamesake, POD_DEFAULTS));
    expect(isCurrent(build(before), changed)).toBe(false);
  });
});
