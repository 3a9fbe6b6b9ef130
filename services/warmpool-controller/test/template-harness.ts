import {
  annotations as notes,
  AUTHORED_POLICY_NAME,
  formatNetworkPolicyName,
  labels as keys,
  nameHash,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxTemplateSpec } from '@sandlot/api-types';
import { sandbox, template } from '@sandlot/api-types/testing';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { networkPolicies, pods } from '@sandlot/kube';
import type { NetworkPolicy } from '@sandlot/kube';
import { ControllerHarness, startTestEnvironment } from '@sandlot/service-testkit';
import type { TestController } from '@sandlot/service-testkit';
import { createCache } from '../src/wiring/cache.ts';
import { addTemplateController } from '../src/templates/controller.ts';
import type { NetworkSettings } from '../src/templates/network/settings.ts';

/** The network settings of an installation without values of its own. */
export const NETWORK: NetworkSettings = {
  releaseNamespace: 'sandlot-system',
  extraBlockedCIDRs: [],
  extraEgress: [],
  protectAuthoredSandboxes: false,
};

const KEY = { namespace: 'default', name: 'template' };

/** The controllers of templates and of policies for authored Sandboxes on an in-process API server. */
export class TemplateHarness extends ControllerHarness {
  static async start(): Promise<TemplateHarness> {
    return new TemplateHarness(await startTestEnvironment([sandboxes, sandboxTemplates, sandboxWarmPools]));
  }

  startController(network: Partial<NetworkSettings> = {}): TestController {
    return this.run('warmpool-controller', (parts) => {
      const { client, clock, random, log, kubeMetrics: metrics } = parts;
      const cache = createCache({ client, clock, random, log, metrics, namespaces: undefined });
      const options = { cache, concurrency: 4, podDefaults: POD_DEFAULTS };
      return addTemplateController(parts, { ...options, network: { ...NETWORK, ...network } });
    });
  }

  /** Creates the template `template`. */
  createTemplate(spec: Partial<SandboxTemplateSpec> = {}, uid = 'uid-t'): void {
    this.api.seed(sandboxTemplates, template({ spec, metadata: { uid } }));
  }

  removeTemplate(): void {
    this.api.remove(sandboxTemplates, KEY);
  }

  /** Deletes the template, and creates one of its name with the default rules. */
  recreateTemplate(spec: Partial<SandboxTemplateSpec> = {}): void {
    const { uid = '' } = this.template().metadata;
    this.removeTemplate();
    this.createTemplate(spec, `${uid}-again`);
  }

  edit(change: (spec: SandboxTemplateSpec) => void): void {
    this.api.change(sandboxTemplates, KEY, ({ metadata, spec }) => {
      change(spec);
      metadata.generation = (metadata.generation ?? 1) + 1;
    });
  }

  template(): SandboxTemplate {
    const found = this.api.object(sandboxTemplates, KEY);
    if (found === undefined) throw new Error('the template is gone');
    return found;
  }

  /** `Type=status/reason` of the template's conditions. */
  conditions(): string[] {
    const conditions = this.template().status?.conditions ?? [];
    return conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`);
  }

  policy(name = formatNetworkPolicyName('template')): NetworkPolicy | undefined {
    return this.api.object(networkPolicies, { ...KEY, name });
  }

  authoredPolicy(): NetworkPolicy | undefined {
    return this.policy(AUTHORED_POLICY_NAME);
  }

  changePolicy(change: (policy: NetworkPolicy) => void, name = formatNetworkPolicyName('template')): void {
    this.api.change(networkPolicies, { ...KEY, name }, change);
  }

  removePolicy(name = formatNetworkPolicyName('template')): void {
    this.api.remove(networkPolicies, { ...KEY, name });
  }

  /** Creates a Sandbox as a user does. */
  createAuthored(name: string): Sandbox {
    const [made] = this.api.seed(sandboxes, sandbox({ name, metadata: { uid: `uid-${name}` } }));
    if (made === undefined) throw new Error('the Sandbox was not stored');
    return made;
  }

  /** Creates a Sandbox as a claim of the template does. */
  createClaimed(name: string): void {
    const owner = {
      apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
      kind: 'SandboxClaim',
      name,
      uid: `uid-c-${name}`,
    };
    const labels = { 'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('template') };
    this.api.garbageCollector.pause();
    this.api.seed(
      sandboxes,
      sandbox({ name, metadata: { labels, ownerReferences: [{ ...owner, controller: true }] } }),
    );
  }

  /** Creates a Sandbox of the template that a detached claim has delivered: nothing owns it. */
  createDelivered(name: string, spec: Partial<Sandbox['spec']> = {}): void {
    const labels = { [keys.templateRefHash]: nameHash('template'), [keys.claimName]: 'job' };
    const annotations = { [notes.templateRef]: 'template' };
    this.api.seed(sandboxes, sandbox({ name, metadata: { labels, annotations }, spec }));
  }

  /** Creates a Pod of the template. */
  createPod(name: string): void {
    const labels = { [keys.templateRefHash]: nameHash('template') };
    const metadata = { namespace: 'default', name, labels };
    this.api.seed(pods, { metadata, spec: { containers: [{ name: 'main', image: 'busybox' }] } });
  }

  removePod(name: string): void {
    this.api.remove(pods, { ...KEY, name });
  }

  removeSandbox(name: string): void {
    this.api.remove(sandboxes, { ...KEY, name });
  }
}
