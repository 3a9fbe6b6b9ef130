import {
  annotations,
  claimNameLabel,
  labels,
  nameHash,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { pool, template } from '@sandlot/api-types/testing';
import { buildGoldenSandbox, POD_DEFAULTS } from '@sandlot/blueprint';
import { describe, expect, it } from 'vitest';
import { ClaimHarness, readyStatus } from '../../test/harness.ts';

const CLAIM_UID = 'uid-of-the-claim';

/** Every label that a member of the pool `pool`, or a slot of the claim `job`, has. */
const EVERY_LABEL = {
  [labels.warmPoolMember]: nameHash('pool'),
  [labels.templateHash]: 'h',
  [labels.podTemplateHash]: 'h',
  [labels.warmPool]: nameHash('pool'),
  [labels.launchType]: 'warm',
  [labels.claimUid]: CLAIM_UID,
  [labels.claimName]: claimNameLabel('job'),
  [labels.claimSlot]: '0',
};

/** A pool without members whose template has a golden Sandbox, Ready and labelled like a member. */
async function start(): Promise<{ readonly harness: ClaimHarness; readonly golden: Sandbox }> {
  const harness = await ClaimHarness.start();
  const [stored] = harness.api.seed(sandboxTemplates, template({ spec: { golden: {} } }));
  if (stored === undefined) throw new Error('the template was not stored');
  harness.api.seed(sandboxWarmPools, pool());
  const made = buildGoldenSandbox(stored, POD_DEFAULTS);
  const metadata = { ...made.metadata, labels: { ...EVERY_LABEL, ...made.metadata.labels } };
  const [golden] = harness.api.seed(sandboxes, { ...made, metadata, status: readyStatus({ address: '10.0.0.9' }) });
  if (golden === undefined) throw new Error('the Sandbox was not stored');
  return { harness, golden };
}

describe('the golden Sandbox of a template, from which members are restored, is never given to', () => {
  type Build = (golden: string) => {
    readonly name?: string;
    readonly spec?: Partial<SandboxClaim['spec']>;
    readonly notes?: Record<string, string>;
  };
  const shapes: readonly (readonly [string, Build])[] = [
    ['a claim on its pool', () => ({})],
    ['a claim that waits for stock', () => ({ spec: { createOnNoStock: false } })],
    ['a claim on its template', () => ({ spec: { sandboxTemplateRef: { name: 'template' } } })],
    ['a batch', () => ({ spec: { replicas: 2 } })],
    ['a claim of its name', (name) => ({ name })],
    ['a batch of which it seems to fill a slot', (name) => ({ name, spec: { replicas: 2 } })],
    ['a claim on which it is noted', (name) => ({ notes: { [annotations.sandboxName]: name } })],
    ['a batch on which it is noted', (name) => ({ spec: { replicas: 2 }, notes: { [annotations.sandboxName]: name } })],
  ];

  it.each(shapes)('%s', async (_, build) => {
    const { harness, golden } = await start();
    await using _harness = harness;
    const goldenName = golden.metadata.name ?? '';
    const { name = 'job', spec = {}, notes = {} } = build(goldenName);
    harness.makeAllReady();
    harness.startController();
    await harness.watching();
    harness.claim(name, spec, notes);
    harness.api.change(sandboxes, { namespace: 'default', name: goldenName }, (box) => {
      box.metadata.annotations = { ...box.metadata.annotations, touched: 'yes' };
    });
    await harness.elapse(10_000);
    const { ownerReferences, labels: marks } = harness.sandbox(goldenName)?.metadata ?? {};
    expect(ownerReferences).toEqual(golden.metadata.ownerReferences);
    expect(marks).toEqual(golden.metadata.labels);
    expect(harness.getStatus(name).sandbox?.name).not.toBe(goldenName);
    expect(JSON.stringify(harness.getStatus(name))).not.toContain('10.0.0.9');
  });
});
