import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from '../api-client.ts';
import { createApiClient } from '../api-client.ts';
import type { Binaries } from '../binaries/ensure.ts';
import { ensureBinaries } from '../binaries/ensure.ts';
import { applyCrds } from '../components/crds.ts';
import {
  listApiServerFlags,
  auditPolicy,
  listControllerManagerFlags,
  listEtcdFlags,
  buildKwokConfiguration,
  listKwokFlags,
  listSchedulerFlags,
} from '../components/flags.ts';
import { createSimulatedNodes } from '../components/simulated-nodes.ts';
import { ComponentError } from '../errors.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import { issueCertificates } from '../pki.ts';
import type { CommandResult } from '../process/exec.ts';
import { exec, execOrThrow } from '../process/exec.ts';
import type { GuardedProcess } from '../process/guarded.ts';
import { startGuarded } from '../process/guarded.ts';
import { findFreePort } from '../process/ports.ts';
import { createTempFolder, removeTempFolder } from '../process/temp-folder.ts';
import { waitFor } from '../process/wait.ts';

/** What to run besides etcd and kube-apiserver, and how. */
export interface ControlPlaneOptions {
  /** Paths of YAML files or folders with CRDs. The start waits until the API server serves them. */
  crds?: readonly string[] | undefined;
  controllerManager?: boolean | undefined;
  scheduler?: boolean | undefined;
  /** Number of nodes simulated by kwok, on which scheduled pods become Running and Ready at once. Default 0. */
  kwokNodes?: number | undefined;
  /** Writes a Metadata-level audit log, one JSON line per finished request. */
  audit?: boolean | undefined;
  /**
   * How much the heaps of etcd and kube-apiserver grow before they collect garbage, in percent (Go's GOGC). Default 400: it takes 90 MiB
   * more than Go's own 100, and a sixth less CPU time until the API server is ready.
   */
  heapGrowthPercent?: number | undefined;
  /** Further flags of kube-apiserver. */
  apiServerFlags?: readonly string[] | undefined;
  /** Further flags of kube-controller-manager. */
  controllerManagerFlags?: readonly string[] | undefined;
  /** Makes kube-apiserver serve its profiles. */
  profiling?: boolean | undefined;
}

/** A Kubernetes control plane with its own folder, port and certificates. */
export interface ControlPlane extends AsyncDisposable {
  readonly server: string;
  /** Path of a cluster-admin kubeconfig. */
  readonly kubeconfigPath: string;
  readonly auditLogPath: string | undefined;
  /** Creates a kubeconfig with a client certificate for the user and groups, and returns its path. */
  kubeconfigFor(user: string, groups?: readonly string[]): Promise<string>;
  kubectl(args: readonly string[], input?: string): Promise<CommandResult>;
  /** Sends SIGKILL to etcd and kube-apiserver. `restart` brings them back. */
  kill(): Promise<void>;
  /** Kills etcd and kube-apiserver if they run, and starts them with the same port and data. */
  restart(): Promise<void>;
  /** Kills every process and removes the folder. */
  stop(): Promise<void>;
}

const startAttempts = 3;
const readyTimeoutMs = 90_000;

/** Starts a control plane and waits until it serves. Its processes die with this process. Throws ComponentError. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const bin = await ensureBinaries(binariesFor(options));
  for (let attempt = 1; ; attempt += 1) {
    const plane = new RunningControlPlane({
      options,
      bin,
      folder: await createTempFolder(),
      port: await findFreePort(),
    });
    try {
      await plane.start();
      return plane;
    } catch (error) {
      await plane.stop();
      if (attempt === startAttempts || !isPortTaken(error)) throw error;
    }
  }
}

function binariesFor(options: ControlPlaneOptions): ('kube' | 'pki' | 'guard' | 'kwok' | 'kwok-stages')[] {
  return ['kube', 'pki', 'guard', ...((options.kwokNodes ?? 0) > 0 ? (['kwok', 'kwok-stages'] as const) : [])];
}

function isPortTaken(error: unknown): boolean {
  return error instanceof ComponentError && error.logTail.includes('address already in use');
}

interface Setup {
  options: ControlPlaneOptions;
  bin: Binaries;
  folder: string;
  port: number;
}

class RunningControlPlane implements ControlPlane {
  readonly server: string;
  readonly kubeconfigPath: string;
  readonly auditLogPath: string | undefined;
  readonly #setup: Setup;
  readonly #pkiDir: string;
  #core: GuardedProcess[] = [];
  #others: GuardedProcess[] = [];
  #users = 0;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.#pkiDir = join(setup.folder, 'pki');
    this.server = `https://127.0.0.1:${setup.port}`;
    this.kubeconfigPath = join(setup.folder, 'kubeconfig');
    this.auditLogPath = setup.options.audit === true ? join(setup.folder, 'audit.log') : undefined;
  }

  async start(): Promise<void> {
    const { options, bin, folder } = this.#setup;
    await issueCertificates(bin('pki'), {
      dir: this.#pkiDir,
      keys: ['service-account'],
      certificates: [
        { name: 'apiserver', commonName: 'kube-apiserver', dnsNames: ['localhost'], ips: ['127.0.0.1'] },
        { name: 'admin', commonName: 'admin', organizations: ['system:masters'] },
        { name: 'controller-manager', commonName: 'system:kube-controller-manager' },
        { name: 'scheduler', commonName: 'system:kube-scheduler' },
      ],
    });
    await writeFile(join(folder, 'audit-policy.json'), auditPolicy);
    await this.#writeKubeconfig(this.kubeconfigPath, 'admin');
    const api = await createApiClient({ server: this.server, pkiDir: this.#pkiDir, certificate: 'admin' });
    await this.#startCore(api);
    if (options.crds !== undefined) await applyCrds(api, options.crds);
    await this.#startOthers(api);
  }

  async kill(): Promise<void> {
    await Promise.all(this.#core.map((process) => process.kill()));
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.#startCore(await createApiClient({ server: this.server, pkiDir: this.#pkiDir, certificate: 'admin' }));
  }

  async kubeconfigFor(user: string, groups: readonly string[] = []): Promise<string> {
    this.#users += 1;
    const name = `user-${this.#users}`;
    await issueCertificates(this.#setup.bin('pki'), {
      dir: this.#pkiDir,
      certificates: [{ name, commonName: user, organizations: groups }],
    });
    const path = join(this.#setup.folder, `${name}.kubeconfig`);
    await this.#writeKubeconfig(path, name);
    return path;
  }

  async kubectl(args: readonly string[], input?: string): Promise<CommandResult> {
    return exec([this.#setup.bin('kube'), 'kubectl', `--kubeconfig=${this.kubeconfigPath}`, ...args], { input });
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#others, ...this.#core].map((process) => process.kill()));
    await removeTempFolder(this.#setup.folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #startCore(api: ApiClient): Promise<void> {
    const { folder, options, port } = this.#setup;
    const { heapGrowthPercent = 400 } = options;
    const env = { GOGC: String(heapGrowthPercent) };
    const audit =
      this.auditLogPath === undefined
        ? undefined
        : { policyFile: join(folder, 'audit-policy.json'), logFile: this.auditLogPath };
    this.#core = [
      await this.#spawn('etcd', listEtcdFlags(), env),
      await this.#spawn(
        'kube-apiserver',
        listApiServerFlags({
          pkiDir: this.#pkiDir,
          port,
          bindAddress: '127.0.0.1',
          audit,
          serviceAccountAdmission: options.controllerManager === true,
          extra: [
            '--endpoint-reconciler-type=none',
            `--profiling=${options.profiling === true}`,
            ...(options.apiServerFlags ?? []),
          ],
        }),
        env,
      ),
    ];
    await this.#waitUntilServing(api);
  }

  /** Waits for the namespace `default` too, which kube-apiserver creates just after it becomes ready. */
  async #waitUntilServing(api: ApiClient): Promise<void> {
    await waitFor(
      async () => {
        for (const process of this.#core) await process.assertRunning();
        if ((await api.call('GET', '/readyz')).status !== 200) return false;
        return (await api.call('GET', '/api/v1/namespaces/default')).status === 200;
      },
      { what: `kube-apiserver on ${this.server}`, timeoutMs: readyTimeoutMs },
    );
  }

  async #startOthers(api: ApiClient): Promise<void> {
    const { folder, options, bin } = this.#setup;
    const common = { pkiDir: this.#pkiDir, securePort: 0 };
    if (options.controllerManager === true) {
      const kubeconfig = join(folder, 'controller-manager.kubeconfig');
      await this.#writeKubeconfig(kubeconfig, 'controller-manager');
      const flags = listControllerManagerFlags({ ...common, kubeconfig, extra: options.controllerManagerFlags });
      this.#others.push(await this.#spawn('kube-controller-manager', flags));
    }
    if (options.scheduler === true) {
      const kubeconfig = join(folder, 'scheduler.kubeconfig');
      await this.#writeKubeconfig(kubeconfig, 'scheduler');
      this.#others.push(await this.#spawn('kube-scheduler', listSchedulerFlags({ ...common, kubeconfig })));
    }
    if (options.kwokNodes === undefined || options.kwokNodes === 0) return;
    const stagesFile = join(folder, 'stages.yaml');
    await writeFile(stagesFile, buildKwokConfiguration((await execOrThrow([bin('kwok-stages')])).stdout));
    const flags = listKwokFlags({ kubeconfig: this.kubeconfigPath, stagesFile });
    this.#others.push(await this.#spawnBinary('kwok', [bin('kwok'), ...flags]));
    await createSimulatedNodes(api, options.kwokNodes);
  }

  async #spawn(name: string, flags: readonly string[], env?: Record<string, string>): Promise<GuardedProcess> {
    return this.#spawnBinary(name, [this.#setup.bin('kube'), ...flags], env);
  }

  async #spawnBinary(name: string, argv: readonly string[], env?: Record<string, string>): Promise<GuardedProcess> {
    const { bin, folder } = this.#setup;
    return startGuarded({ guard: bin('guard'), name, argv, cwd: folder, logFile: join(folder, `${name}.log`), env });
  }

  async #writeKubeconfig(path: string, certificate: string): Promise<void> {
    await writeKubeconfig({ path, server: this.server, pkiDir: this.#pkiDir, certificate });
  }
}
