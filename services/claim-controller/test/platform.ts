import { fileURLToPath } from 'node:url';
import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { readCompleteLines, startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { z } from 'zod';

const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));
const CONTROLLERS = ['claim-controller', 'warmpool-controller', 'sandbox-controller'] as const;
type ControllerName = (typeof CONTROLLERS)[number];

const auditEvent = z.object({
  verb: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({ resource: z.string(), subresource: z.string().optional(), namespace: z.string().optional() })
    .optional(),
});

/** A real control plane with simulated nodes, and all three controllers as processes of their own. */
export class Platform implements AsyncDisposable {
  readonly client: KubeClient;
  readonly #plane: ControlPlane;
  readonly #kubeconfigs: ReadonlyMap<ControllerName, string>;
  readonly #running = new Map<ControllerName, ServiceProcess>();

  private constructor(plane: ControlPlane, client: KubeClient, kubeconfigs: ReadonlyMap<ControllerName, string>) {
    this.#plane = plane;
    this.client = client;
    this.#kubeconfigs = kubeconfigs;
  }

  static async start(): Promise<Platform> {
    const options = { crds: [CRDS], audit: true, kwokNodes: 2, scheduler: true, controllerManager: true };
    const plane = await startControlPlane(options);
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    const kubeconfigs = new Map<ControllerName, string>();
    for (const name of CONTROLLERS) kubeconfigs.set(name, await plane.kubeconfigFor(name, ['system:masters']));
    return new Platform(plane, client, kubeconfigs);
  }

  getKubeconfig(name: ControllerName): string {
    return this.#kubeconfigs.get(name) ?? '';
  }

  /** Path of a kubeconfig of an administrator with this name, for another replica of a controller. */
  kubeconfigFor(user: string): Promise<string> {
    return this.#plane.kubeconfigFor(user, ['system:masters']);
  }

  /** The audit log so far. */
  readAuditLog(): Promise<readonly string[]> {
    return readCompleteLines(this.#plane.auditLogPath ?? '');
  }

  /** Replaces the running controller of that name, if any. */
  async startController(name: ControllerName, env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
    await this.#running.get(name)?.kill();
    const main = new URL(`../../${name}/src/main.ts`, import.meta.url);
    const settings = { KUBECONFIG: this.getKubeconfig(name), LEADER_ELECT: 'false', LOG_LEVEL: 'info', ...env };
    const process = await startServiceProcess(main, settings);
    this.#running.set(name, process);
    return process;
  }

  async startControllers(env: Readonly<Record<string, string>>): Promise<void> {
    await Promise.all(CONTROLLERS.map((name) => this.startController(name, env)));
  }

  /** Stops the running controller of that name, if any. */
  async stopController(name: ControllerName): Promise<void> {
    await this.#running.get(name)?.stop();
    this.#running.delete(name);
  }

  async killControllers(): Promise<void> {
    await Promise.all([...this.#running.values()].map((process) => process.kill()));
    this.#running.clear();
  }

  /** Creates a namespace with a template and a full pool of so many members. */
  async fillPool(namespace: string, replicas: number): Promise<void> {
    const spec = { podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }] } } };
    await this.client.create(namespaces, { metadata: { name: namespace } });
    await this.client.create(sandboxTemplates, { metadata: { namespace, name: 'template' }, spec });
    const poolSpec = { replicas, sandboxTemplateRef: { name: 'template' } };
    await this.client.create(sandboxWarmPools, { metadata: { namespace, name: 'pool' }, spec: poolSpec });
    await this.until(async () => {
      const { status } = await this.client.get(sandboxWarmPools, { namespace, name: 'pool' });
      return (status?.readyReplicas ?? 0) === replicas;
    });
  }

  /** Creates claims of the pool, all at once. */
  async claim(namespace: string, names: readonly string[]): Promise<void> {
    const spec = { warmPoolRef: { name: 'pool' } };
    await Promise.all(names.map((name) => this.client.create(sandboxClaims, { metadata: { namespace, name }, spec })));
  }

  async claims(namespace: string): Promise<SandboxClaim[]> {
    return (await this.client.listAll(sandboxClaims, { namespace })).items;
  }

  async sandboxes(namespace: string): Promise<Sandbox[]> {
    return (await this.client.listAll(sandboxes, { namespace })).items;
  }

  /** A user's writes in a namespace from the audit log, without Events, as `verb resource[/subresource]`. */
  async readWrites(user: ControllerName, namespace: string): Promise<string[]> {
    const lines = await this.readAuditLog();
    return lines
      .map((line) => auditEvent.parse(JSON.parse(line)))
      .filter((event) => event.user.username === user && event.objectRef?.namespace === namespace)
      .filter((event) => ['create', 'update', 'patch', 'delete'].includes(event.verb))
      .map(({ verb, objectRef }) => [verb, objectRef?.resource, objectRef?.subresource] as const)
      .filter(([, resource]) => resource !== 'events')
      .map(([verb, resource = '', sub]) => (sub === undefined ? `${verb} ${resource}` : `${verb} ${resource}/${sub}`));
  }

  /** Checks ten times a second, for at most two minutes. */
  async until(holds: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 1_200; tries += 1) {
      if (await holds()) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('it did not come true within two minutes');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killControllers();
    await this.client.close();
    await this.#plane.stop();
  }
}
