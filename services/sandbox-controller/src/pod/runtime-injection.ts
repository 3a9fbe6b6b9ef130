import type { Container, EnvVar, PodSpec } from '@sandlot/kube/objects';
import type { RuntimeSettings } from '../plan/snapshot.ts';

export interface Injection {
  readonly image: string;
  readonly publicKey: string;
  /** By these keys the daemon recognises the gateway. */
  readonly gatewayKeys: readonly string[];
  readonly sandboxUid: string;
  /** Whether no claim serves this Sandbox, so that nothing will open its agent-sandbox API: it answers the gateway at once. */
  readonly isAuthored: boolean;
  /** Whether the NetworkPolicy of a template is in place before the Pod starts. */
  readonly isGuarded: boolean;
}

/** Port of the daemon. A container that declares it has a daemon of its own, and the Pod stays as it is. */
const ENVD_PORT = 49_983;
/** Port of the agent-sandbox API. It has no tokens; the gateway recognises it by this port and closes it to E2B clients. */
const EXEC_PORT = '8888';
const EXEC_PORT_VARIABLE = 'SANDLOT_EXEC_PORT';
/** Where the daemon keeps its state across restarts of the container. */
const STATE_FOLDER = '/.sandlot';
const PROGRAM_FOLDER = `${STATE_FOLDER}/bin`;
const PROGRAM = `${PROGRAM_FOLDER}/sandlot-runtime`;
/** Everything added to a Pod has a name with this prefix: docs/reference/sandbox-template.md#runtime-injection. */
const PROGRAM_VOLUME = 'sandlot-runtime';
const STATE_VOLUME = 'sandlot-runtime-state';
export const INSTALLER = 'sandlot-runtime-install';

/** The state holds secrets, so it is in memory. The program is on the node's disk: it would cost the Pod memory. */
const VOLUMES = [
  { name: PROGRAM_VOLUME, emptyDir: { sizeLimit: '64Mi' } },
  { name: STATE_VOLUME, emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
];

/** Read-only: code in the sandbox cannot replace the program that the next start of the container runs. */
const MOUNTS = [
  { name: STATE_VOLUME, mountPath: STATE_FOLDER },
  { name: PROGRAM_VOLUME, mountPath: PROGRAM_FOLDER, readOnly: true },
];

/** As the restricted Pod Security Standard demands: the installer only writes two files into a shared folder. */
const INSTALLER_SECURITY = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** When the first container states no resources. */
const INSTALLER_RESOURCES = { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '64Mi' } };

/**
 * The Pod spec with the daemon in its first container, started by an entry wrapper where the container sets `command`, else
 * by its postStart hook: docs/reference/sandbox-template.md#runtime-injection. The Sandbox keeps its template as written.
 * Call it for specs that {@link findInjectionRefusal} accepts.
 */
export function injectRuntime(spec: PodSpec, injection: Injection): PodSpec {
  const [first, ...others] = spec.containers;
  if (first === undefined || hasDaemon(spec)) return spec;
  return {
    ...spec,
    volumes: [...(spec.volumes ?? []), ...VOLUMES],
    initContainers: [buildInstaller(injection.image, first), ...(spec.initContainers ?? [])],
    containers: [withDaemon(first, injection), ...others],
  };
}

/** Why the daemon cannot start in this Pod, as a text for the owner; undefined when it can. */
export function findInjectionRefusal(
  spec: PodSpec,
  { image, publicKey }: Omit<RuntimeSettings, 'gatewayKeys'>,
): string | undefined {
  const [first] = spec.containers;
  if (first === undefined || hasDaemon(spec)) return undefined;
  if (image === '') {
    return 'runtime.inject needs the image of the daemon, and the installation has none; set spec.runtime.image or the chart value runtime.image';
  }
  if (publicKey === '') {
    return 'runtime.inject needs the public key of the installation, without which the daemon would obey its first caller; set RUNTIME_PUBLIC_KEY of the sandbox-controller';
  }
  return findPortRefusal(first) ?? findHookRefusal(first);
}

/** The gateway protects the API only on the port it knows. */
function findPortRefusal({ name, env = [] }: Container): string | undefined {
  const given = env.findLast((variable) => variable.name === EXEC_PORT_VARIABLE);
  if (given === undefined || given.value === EXEC_PORT || given.value === '0') return undefined;
  return `runtime.inject takes no SANDLOT_EXEC_PORT but ${EXEC_PORT} and 0, which switches the agent-sandbox API off; container "${name}" has another`;
}

function findExecPort(env: readonly EnvVar[]): string | undefined {
  return env.findLast(({ name }) => name === EXEC_PORT_VARIABLE)?.value;
}

function findHookRefusal(first: Container): string | undefined {
  const hook = findPostStart(first);
  if (hasCommand(first) || hook === undefined || findCommand(hook) !== undefined) return undefined;
  return `runtime.inject cannot start the daemon in container "${first.name}": its postStart hook runs no command; set the container's command, or make the hook an exec`;
}

function hasDaemon({ containers, initContainers = [] }: PodSpec): boolean {
  return [...containers, ...initContainers].some(({ ports = [] }) =>
    ports.some(({ containerPort }) => containerPort === ENVD_PORT),
  );
}

function buildInstaller(image: string, { env = [], resources }: Container): Container {
  return {
    name: INSTALLER,
    image,
    imagePullPolicy: 'IfNotPresent',
    args: ['install', PROGRAM_FOLDER],
    // It publishes which ports the daemon serves with its key. Another server may have the port that the daemon leaves free.
    env: [{ name: EXEC_PORT_VARIABLE, value: findExecPort(env) ?? EXEC_PORT }],
    resources: findInstallerResources(resources),
    securityContext: INSTALLER_SECURITY,
    volumeMounts: [{ name: PROGRAM_VOLUME, mountPath: PROGRAM_FOLDER }],
  };
}

/** As the first container states: the Pod keeps its quality-of-service class and requests no more from the scheduler. */
function findInstallerResources(stated: Container['resources']): Container['resources'] {
  const requests = findCpuAndMemory(stated?.requests);
  const limits = findCpuAndMemory(stated?.limits);
  if (requests === undefined && limits === undefined) return INSTALLER_RESOURCES;
  return { ...(requests === undefined ? {} : { requests }), ...(limits === undefined ? {} : { limits }) };
}

type Amounts = Readonly<Record<string, string | number>>;

/** CPU and memory only; the installer needs no devices. */
function findCpuAndMemory(amounts: Amounts = {}): Record<string, string | number> | undefined {
  const kept = Object.entries(amounts).filter(([name]) => name === 'cpu' || name === 'memory');
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function withDaemon(container: Container, injection: Injection): Container {
  const { env = [], volumeMounts = [] } = container;
  return {
    ...container,
    env: [...withoutReserved(env), ...listDaemonVariables(container, injection)],
    volumeMounts: [...volumeMounts, ...MOUNTS],
    ...startDaemon(container),
  };
}

/** Only a command in the template can be wrapped: the controller does not know the command of the image. */
function startDaemon(container: Container): Partial<Container> {
  if (hasCommand(container)) return { command: [PROGRAM, 'run', '--', ...(container.command ?? [])] };
  const hook = findPostStart(container);
  const theirs = hook === undefined ? undefined : findCommand(hook);
  const command = [PROGRAM, 'start', ...(theirs === undefined ? [] : ['--', ...theirs])];
  return { lifecycle: { ...getLifecycle(container), postStart: { exec: { command } } } };
}

function hasCommand({ command = [] }: Container): boolean {
  return command.length > 0;
}

interface Hook {
  readonly exec?: { readonly command?: readonly string[] };
}

interface Lifecycle {
  readonly postStart?: Hook;
}

/** The API server has validated it. */
function getLifecycle(container: Container): Lifecycle {
  return container['lifecycle'] ?? {};
}

function findPostStart(container: Container): Hook | undefined {
  return getLifecycle(container).postStart;
}

function findCommand({ exec }: Hook): readonly string[] | undefined {
  return exec?.command;
}

/** The key by which the daemon recognises the installation. */
export const DAEMON_KEY = 'SANDLOT_RUNTIME_PUBLIC_KEY';
/** The keys by which it recognises the gateway, separated by commas. */
export const DAEMON_GATEWAY_KEYS = 'SANDLOT_GATEWAY_PUBLIC_KEYS';
/** The Sandbox whose calls the daemon accepts. */
export const DAEMON_UID = 'SANDLOT_SANDBOX_UID';

/** Whom the agent-sandbox API answers before a call says so: docs/agent-sandbox-clients.md#port-8888. */
const EXEC_OPEN = 'SANDLOT_EXEC_OPEN';
/** Whether it asks for the proof of the gateway also when a claim has opened it. */
const EXEC_PROOF = 'SANDLOT_EXEC_PROOF';

/** Identity and trust of the daemon: the template must not set them. */
const RESERVED: ReadonlySet<string> = new Set([
  DAEMON_KEY,
  DAEMON_GATEWAY_KEYS,
  DAEMON_UID,
  'SANDLOT_RUNTIME_UNPROTECTED',
  'SANDLOT_RUNTIME_DIR',
  'SANDLOT_ENVD_PORT',
  EXEC_OPEN,
  EXEC_PROOF,
]);

function withoutReserved(env: readonly EnvVar[]): EnvVar[] {
  return env.filter(({ name }) => !RESERVED.has(name));
}

/** The template may set the other variables: SANDLOT_DEFAULT_USER, SANDLOT_WORKDIR, SANDLOT_EXEC_PORT. */
function listDaemonVariables(
  { env = [], workingDir }: Container,
  { publicKey, gatewayKeys, sandboxUid, isAuthored, isGuarded }: Injection,
): EnvVar[] {
  const ownAccess = findOwnAccess(env);
  const given = new Set(env.map(({ name }) => name));
  const defaults = {
    [EXEC_PORT_VARIABLE]: EXEC_PORT,
    ...(typeof workingDir === 'string' ? { SANDLOT_WORKDIR: workingDir } : {}),
  };
  const fixed = {
    [DAEMON_UID]: sandboxUid,
    [DAEMON_KEY]: publicKey,
    // These are always set: an unset variable could come from envFrom.
    [DAEMON_GATEWAY_KEYS]: gatewayKeys.join(','),
    SANDLOT_RUNTIME_DIR: STATE_FOLDER,
    SANDLOT_ENVD_PORT: String(ENVD_PORT),
    [EXEC_OPEN]: isAuthored ? ownAccess : 'false',
    [EXEC_PROOF]: String(!isGuarded && ownAccess === 'gateway'),
    SANDLOT_RUNTIME_UNPROTECTED: 'false',
  };
  const added = [...Object.entries(defaults).filter(([name]) => !given.has(name)), ...Object.entries(fixed)];
  return added.map(([name, value]) => ({ name, value }));
}

/** The author of a Sandbox or a template may open the API to every caller, and guard it by a NetworkPolicy. */
function findOwnAccess(env: readonly EnvVar[]): 'true' | 'gateway' {
  return env.findLast(({ name }) => name === EXEC_OPEN)?.value === 'true' ? 'true' : 'gateway';
}
