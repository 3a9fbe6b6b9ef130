// The rules process and the data plane beside it, on a real API server. The tests stand in for the controllers.
import {
  annotations,
  formatNetworkPolicyName,
  formatTemplateEgress,
  labels,
  nameHash,
  sandboxClaims,
  sandboxes,
} from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces, networkPolicies, pods, services } from '@sandlot/kube';
import type { KubeClient, OwnerReference } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { expect, vi } from 'vitest';
import { findPort, startDataPlane } from './data-plane.ts';
import type { DataPlane } from './data-plane.ts';

const CRDS = new URL('../../../charts/sandlot/files/crds', import.meta.url).pathname;
export const PATIENCE = { timeout: 60_000, interval: 50 };
export const TEAM = 'team';
export const SYSTEM = 'sandlot-system';
export const VAULT = 'sandlot-system-vault';
export const SERVICES = { passed: 'sandlot-egress', inspected: 'sandlot-egress-inspect' };
export const LISTED = 'api.example.com';
export const OTHER = 'other.example.com';
/** The annotation of a claim that reaches these names alone. */
export const closed = (...allowOut: readonly string[]): string => JSON.stringify({ denyOut: ['0.0.0.0/0'], allowOut });

/** The Pod that the rules process takes for its own. */
export const POD = 'one';
const POD_SPEC = { containers: [{ name: 'main', image: 'busybox' }] };
const KINDS = { SandboxClaim: 'extensions.agents.x-k8s.io/v1beta1', Sandbox: 'agents.x-k8s.io/v1beta1' };

const ownedBy = (kind: keyof typeof KINDS, name: string, uid = ''): OwnerReference => ({
  apiVersion: KINDS[kind],
  kind,
  name,
  uid,
  controller: true,
});

interface Given {
  readonly network?: string;
  readonly template?: string;
}

export class EgressStack implements AsyncDisposable {
  readonly client: KubeClient;
  readonly plane: DataPlane;
  /** UID of the Pod that the rules process takes for its own. */
  readonly podUid: string;
  /** The address of the Service for names without a rule. */
  proxy = '';
  readonly #open: AsyncDisposableStack;
  readonly #env: Readonly<Record<string, string>>;
  #rules: ServiceProcess | undefined;

  private constructor(
    open: AsyncDisposableStack,
    parts: Pick<EgressStack, 'client' | 'plane' | 'podUid'>,
    env: Readonly<Record<string, string>>,
  ) {
    this.#open = open;
    this.client = parts.client;
    this.plane = parts.plane;
    this.podUid = parts.podUid;
    this.#env = env;
  }

  /** Starts both processes, with a template `base` that is OnDemand. */
  static async start(): Promise<EgressStack> {
    const open = new AsyncDisposableStack();
    const cluster = open.use(await startControlPlane({ crds: [CRDS] }));
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: cluster.kubeconfigPath }) });
    open.defer(() => client.close());
    for (const name of [TEAM, SYSTEM, VAULT]) await client.create(namespaces, { metadata: { name } });
    const own = await client.create(pods, { metadata: { namespace: SYSTEM, name: POD }, spec: POD_SPEC });
    const podUid = own.metadata.uid ?? '';
    const plane = open.use(await startDataPlane());
    const env = {
      KUBECONFIG: cluster.kubeconfigPath,
      POD_NAMESPACE: SYSTEM,
      POD_NAME: POD,
      POD_UID: podUid,
      EGRESS_SOCKET: plane.socket,
      PORT: String(await findPort()),
      EGRESS_SERVICE: SERVICES.passed,
      EGRESS_INSPECT_SERVICE: SERVICES.inspected,
      VAULT_NAMESPACE: VAULT,
      EGRESS_NAMESPACE_SECRETS: 'true',
    };
    const stack = new EgressStack(open, { client, plane, podUid }, env);
    stack.proxy = await stack.createService(SERVICES.passed);
    await stack.createService(SERVICES.inspected);
    await stack.startRules();
    open.defer(() => stack.#rules?.stop().then(() => undefined));
    await stack.createPolicy('base', formatTemplateEgress({ mode: 'OnDemand' }));
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(true), PATIENCE);
    return stack;
  }

  async startRules(): Promise<void> {
    this.#rules = await startServiceProcess(new URL('../src/main.ts', import.meta.url), this.#env);
  }

  async killRules(): Promise<void> {
    await this.#rules?.kill();
  }

  /** What the rules process says at its port. */
  fetchReport(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#env['PORT'] ?? ''}/${path}`, init);
  }

  async readReport(path: string): Promise<readonly [number, unknown]> {
    const answer = await this.fetchReport(path);
    return [answer.status, await answer.json()];
  }

  async fetchMetrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#rules?.metricsPort ?? 0}/metrics`)).text();
  }

  async createService(name: string): Promise<string> {
    const { spec } = await this.client.create(services, {
      metadata: { namespace: SYSTEM, name },
      spec: { ports: [{ name: 'dns', protocol: 'UDP', port: 53 }] },
    });
    return spec?.clusterIP ?? '';
  }

  /** The NetworkPolicy of a template, as the warmpool-controller writes it. */
  async createPolicy(template: string, egress?: string): Promise<void> {
    const marks = egress === undefined ? {} : { [annotations.egress]: egress };
    await this.client.create(networkPolicies, {
      metadata: { namespace: TEAM, name: formatNetworkPolicyName(template), annotations: marks },
      spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }] },
    });
  }

  async setEgress(template: string, egress: string | null): Promise<void> {
    const patch = { metadata: { annotations: { [annotations.egress]: egress } } };
    await this.client.mergePatch(networkPolicies, { namespace: TEAM, name: formatNetworkPolicyName(template) }, patch);
  }

  /** A claim with a Sandbox and a Pod that runs at the address. Resolves with its UID. */
  async claim(name: string, address: string, { network, template = 'base' }: Given = {}): Promise<string> {
    const marks = network === undefined ? {} : { [annotations.network]: network };
    const { metadata } = await this.client.create(sandboxClaims, {
      metadata: { namespace: TEAM, name, annotations: marks },
      spec: { sandboxTemplateRef: { name: template } },
    });
    const sandbox = await this.client.create(sandboxes, {
      metadata: {
        namespace: TEAM,
        name,
        annotations: { [annotations.templateRef]: template },
        ownerReferences: [ownedBy('SandboxClaim', name, metadata.uid)],
      },
      spec: { podTemplate: { spec: POD_SPEC } },
    });
    await this.createPod(name, name, { uid: sandbox.metadata.uid });
    await this.start(name, address);
    return metadata.uid ?? '';
  }

  async createPod(
    name: string,
    sandbox: string,
    { uid, inNamespace = TEAM }: { readonly uid: string | undefined; readonly inNamespace?: string },
  ): Promise<void> {
    await this.client.create(pods, {
      metadata: {
        namespace: inNamespace,
        name,
        labels: { [labels.nameHash]: nameHash(sandbox) },
        ownerReferences: [ownedBy('Sandbox', sandbox, uid)],
      },
      spec: POD_SPEC,
    });
  }

  /** Says that the Pod runs at the address. */
  async start(name: string, address: string, inNamespace = TEAM): Promise<void> {
    const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }] };
    await this.client.mergePatch(pods, { namespace: inNamespace, name }, { status }, { subresource: 'status' });
  }

  async setNetwork(name: string, network: string): Promise<void> {
    const patch = { metadata: { annotations: { [annotations.network]: network } } };
    await this.client.mergePatch(sandboxClaims, { namespace: TEAM, name }, patch);
  }

  async expectAnswers(address: string, answers: Readonly<Record<string, string>>): Promise<void> {
    await vi.waitFor(async () => {
      const asked = Object.keys(answers).map(async (name) => [name, await this.plane.ask(address, name)] as const);
      expect(Object.fromEntries(await Promise.all(asked))).toEqual(answers);
    }, PATIENCE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}
