import {
  annotations,
  hashPodTemplate,
  labels,
  nameHash,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
} from '@sandlot/api-types';
import type { SandboxTemplate, SandboxTemplateSpec } from '@sandlot/api-types';
import { buildColdSandbox, POD_DEFAULTS } from '@sandlot/blueprint';
import { claim } from '@sandlot/api-types/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, PLACE } from '../../test/harness.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const NAME = 'trained';
const container = { name: 'main', image: 'python' };

function find(name = NAME): SandboxTemplate | undefined {
  return h.api.object(sandboxTemplates, { namespace: PLACE, name });
}

function get(name = NAME): SandboxTemplate {
  const found = find(name);
  if (found === undefined) throw new Error(`there is no SandboxTemplate ${name}`);
  return found;
}

function addTemplate(name: string, spec: Partial<SandboxTemplateSpec> = {}, metadata: object = {}): void {
  const podTemplate = { spec: { containers: [container] } };
  h.api.seed(sandboxTemplates, { metadata: { namespace: PLACE, name, ...metadata }, spec: { podTemplate, ...spec } });
}

/** A Sandbox that a claim started cold from the template `python`, and its Pod. */
function addClaimed(spec: Partial<SandboxTemplateSpec>): void {
  addTemplate('python', spec);
  const made = buildColdSandbox({
    claim: claim({ name: 'claimed', namespace: PLACE, spec: { additionalPodMetadata: { labels: { mine: 'yes' } } } }),
    template: get('python'),
    defaults: { ...POD_DEFAULTS, securityDefaults: 'Hardened' },
  });
  h.api.seed(sandboxes, made);
  h.addPod('claimed', { owner: h.owner('claimed') });
}

async function save(sandboxName = 'notebook'): Promise<void> {
  h.hibernate({ whenSaved: 'Resume', templateName: NAME, sandboxName });
  await h.until(() => (h.status().phase ?? 'Pending') !== 'Pending' && h.status().phase !== 'Saving');
}

/** What a claim on the template `trained` gets, in an installation with other defaults than before. */
function start(): string {
  const defaults = { ...POD_DEFAULTS, securityDefaults: 'Hardened', runtimeClassName: 'kata' } as const;
  return hashPodTemplate(buildColdSandbox({ claim: claim({ name: 'next' }), template: get(), defaults }));
}

describe('the template of a snapshot', () => {
  it('starts its Sandboxes from the snapshot, which owns it', async () => {
    await h.startController();
    await save();
    expect(h.summary()).toBe('Ready/Saved');
    expect(get().spec.restoreFrom).toEqual({ snapshotName: 'notebook-1' });
    expect(get().metadata.ownerReferences).toEqual([
      {
        apiVersion: 'sandlot.dev/v1alpha1',
        kind: 'SandboxSnapshot',
        name: 'notebook-1',
        uid: h.snapshot().metadata.uid,
        controller: true,
      },
    ]);
  });

  it('is there before the agent is asked', async () => {
    h.agent.holdsSaves = true;
    await h.startController();
    h.hibernate({ whenSaved: 'Resume', templateName: NAME });
    await h.until(() => h.agent.begun.length === 1);
    expect(find()).toBeDefined();
  });

  it('keeps what its origin lets claims do and reach, and takes the life of the Sandbox', async () => {
    const egress = { egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] };
    const own = { networkPolicy: egress, envVarsInjectionPolicy: 'Allowed', ttlSeconds: 60 } as const;
    addClaimed({ ...own, golden: {}, suspensionStrategy: { type: 'Hibernate' } });
    h.api.change(sandboxes, { namespace: PLACE, name: 'claimed' }, ({ spec }) => {
      delete spec.ttlSeconds;
      spec.idle = { suspendAfterSeconds: 30 };
    });
    await h.startController();
    await save('claimed');
    const { podTemplate, ...spec } = get().spec;
    expect(spec).toEqual({
      networkPolicy: egress,
      envVarsInjectionPolicy: 'Allowed',
      idle: { suspendAfterSeconds: 30 },
      suspensionStrategy: { type: 'Hibernate' },
      securityDefaults: 'Compat',
      restoreFrom: { snapshotName: 'notebook-1' },
    });
    expect(podTemplate.spec).toEqual(
      h.api.object(sandboxes, { namespace: PLACE, name: 'claimed' })?.spec.podTemplate.spec,
    );
  });

  it.each<readonly [string, Partial<SandboxTemplateSpec>]>([
    ['the default network', {}],
    ['a network of its own', { networkPolicy: { egress: [] } }],
    ['no network policy', { networkPolicyManagement: 'Unmanaged' }],
    ['labels', { podTemplate: { metadata: { labels: { team: 'a' } }, spec: { containers: [container] } } }],
  ])('gives a claim the very Pod that was saved, from a template with %s', async (_what, spec) => {
    addClaimed(spec);
    await h.startController();
    await save('claimed');
    expect(start()).toBe(h.snapshot().metadata.annotations?.[annotations.savedTemplate]);
    const { labels: given } = get().spec.podTemplate.metadata ?? {};
    expect(given).toEqual(spec.podTemplate?.metadata?.labels ?? {});
  });

  it.each([true, false])(
    'gives a claim the very Pod of a Sandbox without a template, with a token: %s',
    async (has) => {
      if (has) h.changePod('notebook', { volumes: [{ name: 'kube-api-access-x', projected: {} }] });
      await h.startController();
      await save();
      expect(start()).toBe(h.snapshot().metadata.annotations?.[annotations.savedTemplate]);
      expect(get().spec.podTemplate.spec).toMatchObject({
        automountServiceAccountToken: has,
        dnsPolicy: 'ClusterFirst',
      });
    },
  );

  it('is not that of the annotation of a Sandbox which came from no template', async () => {
    addTemplate('open', { networkPolicyManagement: 'Unmanaged' });
    const forged = { [annotations.templateRef]: 'open' };
    const label = { [labels.templateRefHash]: nameHash('open') };
    h.api.change(sandboxes, { namespace: PLACE, name: 'notebook' }, ({ metadata }) => {
      Object.assign(metadata, { annotations: forged, labels: label });
    });
    await h.startController();
    await save();
    expect(get().spec.networkPolicyManagement).not.toBe('Unmanaged');
  });
});

describe('no template is made', () => {
  it.each(['without an owner', 'of another snapshot'])('over one %s', async (owner) => {
    const [rival] = h.api.seed(sandboxSnapshots, {
      metadata: { namespace: PLACE, name: 'rival' },
      spec: { sandboxName: 'notebook', whenSaved: 'Resume', templateName: NAME },
      status: { phase: 'Failed' },
    });
    const ownerReferences = owner === 'of another snapshot' ? [ownerOf(rival?.metadata.uid ?? '', 'rival')] : [];
    addTemplate(NAME, { ttlSeconds: 7 }, { ownerReferences });
    const before = get();
    await h.startController();
    await save();
    expect(h.summary()).toBe('Failed/TemplateExists');
    expect(get()).toEqual(before);
    expect(h.agent.begun).toEqual([]);
  });

  it('over one that only claims to be of the snapshot', async () => {
    h.hibernate({ whenSaved: 'Resume', templateName: NAME });
    const ownerReferences = [ownerOf(h.snapshot().metadata.uid ?? '')];
    addTemplate(NAME, { restoreFrom: { snapshotName: 'notebook-1' } }, { ownerReferences });
    await h.startController();
    await h.until(() => h.summary() === 'Failed/TemplateExists');
    expect(get().spec.podTemplate.spec.containers).toEqual([container]);
  });

  it('of a Sandbox that has disks', async () => {
    h.addSandbox('with-disk', { volumeClaimTemplates: [{ metadata: { name: 'work' }, spec: {} }] });
    await h.startController();
    await save('with-disk');
    expect(h.summary()).toBe('Failed/DisksNotSupported');
    expect(find()).toBeUndefined();
  });

  it('that an admission policy refuses, and the snapshot says so', async () => {
    const match = { verb: 'create', resource: 'sandboxtemplates' } as const;
    h.api.faults.failNext({ match, answer: { status: 403, message: 'Remove secretKeyRef' } });
    await h.startController();
    await save();
    expect(h.summary()).toBe('Failed/TemplateRefused');
    expect(h.status().conditions?.[0]?.message).toContain('Remove secretKeyRef. Use a Sandbox without that');
    expect(h.agent.begun).toEqual([]);
  });
});

describe('a controller that is killed after it made the template', () => {
  it('leaves a save that the next one begins', async () => {
    h.agent.holdsSaves = true;
    const first = await h.startController();
    h.hibernate({ whenSaved: 'Resume', templateName: NAME });
    await h.until(() => find() !== undefined);
    await h.kill(first);
    h.agent.finishSaves();
    await h.startController();
    await h.until(() => h.summary() === 'Ready/Saved');
  });
});

function ownerOf(uid: string, name = 'notebook-1'): object {
  return { apiVersion: 'sandlot.dev/v1alpha1', kind: 'SandboxSnapshot', name, uid, controller: true };
}
