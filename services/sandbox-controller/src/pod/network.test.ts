import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness } from '../../test/harness.ts';

const POLICY = 'base-network-policy';
const AUTHORED = 'sandlot-authored-sandboxes';

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const readReady = () => h.status().conditions?.find(({ type }) => type === 'Ready');
const untilWaiting = () =>
  h.until(() => readReady()?.reason === 'NetworkPolicyPending', 'the Sandbox waits for its NetworkPolicy');
const untilPod = () => h.until(() => h.pod() !== undefined, 'there is a Pod');
const countReads = (): number =>
  h.api.requests().filter(({ verb, resource }) => verb === 'get' && resource === 'networkpolicies').length;

async function suspend(): Promise<void> {
  h.edit((spec) => (spec.operatingMode = 'Suspended'));
  await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined, 'the Pod terminates');
  h.removePod();
  await h.until(() => readReady()?.message === 'Sandbox is suspended', 'the Sandbox is suspended');
}

describe('the Pod of a Sandbox of a template', () => {
  it('is not created before the policy of the template, and is soon after', async () => {
    h.createTemplate('Managed');
    h.createOfTemplate();
    await h.startController();
    await untilWaiting();
    await h.elapse(10_000);
    expect(h.pod()).toBeUndefined();
    expect(readReady()?.message).toBe(
      `NetworkPolicy "${POLICY}" is not in place, so no Pod may start: the controllers restore it; conditions of the ` +
        'template and the claim say what keeps them from it',
    );
    expect(h.status().conditions?.map(({ type }) => type)).toEqual(['Ready', 'Suspended']);
    h.createPolicy(POLICY, 'template');
    await untilPod();
  });

  it('waits for the policy when the Sandbox is resumed after its template was deleted', async () => {
    h.createPolicy(POLICY, 'template');
    h.createOfTemplate();
    await h.startController();
    await untilPod();
    h.runPod();
    await h.untilReady();
    await suspend();
    h.removePolicy(POLICY);
    h.edit((spec) => (spec.operatingMode = 'Running'));
    await untilWaiting();
    await h.elapse(2_000);
    expect(h.pod()).toBeUndefined();
    expect(readReady()?.message).toContain('create SandboxTemplate "base" again');
    h.createPolicy(POLICY, 'template');
    await untilPod();
  });

  it('waits less and less often for a policy that does not come', async () => {
    h.createOfTemplate();
    await h.startController();
    await untilWaiting();
    await h.elapse(600_000);
    expect(countReads()).toBeGreaterThan(10);
    expect(countReads()).toBeLessThan(30);
  });

  it.each([
    ['whose template is Unmanaged', true, 'Unmanaged' as const],
    ['from an earlier release, whose template is gone', false, undefined],
  ])('starts without a policy: one %s', async (_, isMarked, management) => {
    if (management !== undefined) h.createTemplate(management);
    h.createOfTemplate({ isMarked });
    await h.startController();
    await untilPod();
  });

  it('waits also when an earlier release made the Sandbox, and its template manages a policy', async () => {
    h.createTemplate('Managed');
    h.createOfTemplate({ isMarked: false });
    await h.startController();
    await untilWaiting();
    expect(h.pod()).toBeUndefined();
  });

  it('costs no read of the policy that the watch shows, none while it runs, and one when it is resumed', async () => {
    h.createPolicy(POLICY, 'template');
    h.createOfTemplate();
    await h.startController();
    await untilPod();
    h.runPod();
    await h.untilReady();
    h.edit((spec) => (spec.ttlSecondsAfterFinished = 60));
    await h.elapse(60_000);
    expect(countReads()).toBe(0);
    await suspend();
    h.edit((spec) => (spec.operatingMode = 'Running'));
    await untilPod();
    expect(countReads()).toBe(1);
  });
});

describe('the Pod of a Sandbox without a template', () => {
  it('waits for the policy of its namespace if the installation protects such Sandboxes', async () => {
    h.create();
    await h.startController({ protectsAuthored: true });
    await untilWaiting();
    expect(h.pod()).toBeUndefined();
    h.createPolicy(AUTHORED, 'authored-sandboxes');
    await untilPod();
  });

  it('waits for nothing otherwise, and reads nothing', async () => {
    h.create();
    await h.startController();
    await untilPod();
    expect(countReads()).toBe(0);
  });
});
