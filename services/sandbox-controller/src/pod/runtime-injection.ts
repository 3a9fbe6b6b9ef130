import type { Container, EnvVar, PodSpec } from '@sandlot/kube';

/** What the installation says about the in-sandbox daemon. */
export interface RuntimeSettings {
  /** Image of the daemon for Sandboxes that name none; empty when the installation has none. */
  readonly image: string;
  /** Ed25519 public key, base64 of its 32 bytes, by which the daemon knows the installation; empty: it trusts whoever comes first. */
  readonly publicKey: string;
}

export interface Injection {
  readonly image: string;
  readonly publicKey: string;
  readonly sandboxUid: string;
  /** Whether the agent-sandbox API answers although nobody said so: nobody will, as no claim is served by the Sandbox. */
  readonly execOpen: boolean;
}

/** The port of the daemon. A container that declares it has a daemon of its own, and the Pod is left as it is. */
const ENVD_PORT = 49_983;
/** Port of the agent-sandbox API, by which the gateway knows it: it has no authentication, and is closed to E2B clients. */
const EXEC_PORT = '8888';
/** Where the daemon remembers what it was told while a container is started anew. */
const STATE_FOLDER = '/.sandlot';
const PROGRAM_FOLDER = `${STATE_FOLDER}/bin`;
const PROGRAM = `${PROGRAM_FOLDER}/sandlot-runtime`;
/** Whatever is added to a Pod has a name that starts so (API contract, runtime injection). */
const PROGRAM_VOLUME = 'sandlot-runtime';
const STATE_VOLUME = 'sandlot-runtime-state';
const INSTALLER = 'sandlot-runtime-install';

/** Secrets are never on a disk; the program is, since it would take memory of the Pod for as long as that lives. */
const VOLUMES = [
  { name: PROGRAM_VOLUME, emptyDir: { sizeLimit: '64Mi' } },
  { name: STATE_VOLUME, emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
];

/** What runs in the sandbox cannot replace the program that the next start of its container runs. */
const MOUNTS = [
  { name: STATE_VOLUME, mountPath: STATE_FOLDER },
  { name: PROGRAM_VOLUME, mountPath: PROGRAM_FOLDER, readOnly: true },
];

/** Restricted by the Pod Security Standards: it copies one file into a folder that is open to all. */
const INSTALLER_SECURITY = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** Of an installer beside containers that state nothing. */
const INSTALLER_RESOURCES = { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '64Mi' } };

/**
 * The Pod spec with the daemon in its first container, started by an entry wrapper where the container sets `command`,
 * else by its postStart hook (API contract, runtime injection). Injection is done when the Pod is built: the Sandbox keeps
 * its template as written. Call it for specs that {@link injectionRefusal} has nothing against.
 */
export function injectRuntime(spec: PodSpec, injection: Injection): PodSpec {
  const [first, ...others] = spec.containers;
  if (first === undefined || hasDaemon(spec)) return spec;
  return {
    ...spec,
    volumes: [...(spec.volumes ?? []), ...VOLUMES],
    initContainers: [installer(injection.image, first), ...(spec.initContainers ?? [])],
    containers: [withDaemon(first, injection), ...others],
  };
}

/** Why the daemon cannot be started in this Pod, for the owner of the Sandbox; undefined when it can. */
export function injectionRefusal(spec: PodSpec, image: string): string | undefined {
  const [first] = spec.containers;
  if (first === undefined || hasDaemon(spec)) return undefined;
  if (image === '') {
    return 'runtime.inject needs the image of the daemon, and the installation has none; set spec.runtime.image or the chart value runtime.image';
  }
  return portRefusal(first) ?? hookRefusal(first);
}

/** On any other port the API would be open to whom the gateway keeps from the one it knows. */
function portRefusal({ name, env = [] }: Container): string | undefined {
  const given = env.findLast((variable) => variable.name === 'SANDLOT_EXEC_PORT');
  if (given === undefined || given.value === EXEC_PORT || given.value === '0') return undefined;
  return `runtime.inject takes no SANDLOT_EXEC_PORT but ${EXEC_PORT} and 0, which switches the agent-sandbox API off; container "${name}" has another`;
}

function hookRefusal(first: Container): string | undefined {
  const hook = postStartOf(first);
  if (hasCommand(first) || hook === undefined || commandOf(hook) !== undefined) return undefined;
  return `runtime.inject cannot start the daemon in container "${first.name}": its postStart hook runs no command; set the container's command, or make the hook an exec`;
}

function hasDaemon({ containers, initContainers = [] }: PodSpec): boolean {
  return [...containers, ...initContainers].some(({ ports = [] }) =>
    ports.some(({ containerPort }) => containerPort === ENVD_PORT),
  );
}

function installer(image: string, { resources }: Container): Container {
  return {
    name: INSTALLER,
    image,
    imagePullPolicy: 'IfNotPresent',
    args: ['install', PROGRAM_FOLDER],
    resources: installerResources(resources),
    securityContext: INSTALLER_SECURITY,
    volumeMounts: [{ name: PROGRAM_VOLUME, mountPath: PROGRAM_FOLDER }],
  };
}

/**
 * Those of the container that follows, where it states any: the Pod keeps its class of service, and asks the scheduler for
 * nothing more.
 */
function installerResources(stated: Container['resources']): Container['resources'] {
  const requests = compute(stated?.requests);
  const limits = compute(stated?.limits);
  if (requests === undefined && limits === undefined) return INSTALLER_RESOURCES;
  return { ...(requests === undefined ? {} : { requests }), ...(limits === undefined ? {} : { limits }) };
}

type Amounts = Readonly<Record<string, string | number>>;

/** Devices are for the work itself. */
function compute(amounts: Amounts = {}): Record<string, string | number> | undefined {
  const kept = Object.entries(amounts).filter(([name]) => name === 'cpu' || name === 'memory');
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function withDaemon(container: Container, injection: Injection): Container {
  const { env = [], volumeMounts = [] } = container;
  return {
    ...container,
    env: [...withoutOurs(env), ...environment(container, injection)],
    volumeMounts: [...volumeMounts, ...MOUNTS],
    ...started(container),
  };
}

/** A container whose command is the image's own cannot be wrapped: nobody here knows what the image would run. */
function started(container: Container): Partial<Container> {
  if (hasCommand(container)) return { command: [PROGRAM, 'run', '--', ...(container.command ?? [])] };
  const hook = postStartOf(container);
  const theirs = hook === undefined ? undefined : commandOf(hook);
  const command = [PROGRAM, 'start', ...(theirs === undefined ? [] : ['--', ...theirs])];
  return { lifecycle: { ...lifecycleOf(container), postStart: { exec: { command } } } };
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

/** As the API server has checked it. */
function lifecycleOf(container: Container): Lifecycle {
  return container['lifecycle'] ?? {};
}

function postStartOf(container: Container): Hook | undefined {
  return lifecycleOf(container).postStart;
}

function commandOf({ exec }: Hook): readonly string[] | undefined {
  return exec?.command;
}

/** Who the daemon is and whom it trusts is not the template's to say. */
const OURS: ReadonlySet<string> = new Set([
  'SANDLOT_RUNTIME_PUBLIC_KEY',
  'SANDLOT_SANDBOX_UID',
  'SANDLOT_RUNTIME_DIR',
  'SANDLOT_ENVD_PORT',
  'SANDLOT_EXEC_OPEN',
]);

function withoutOurs(env: readonly EnvVar[]): EnvVar[] {
  return env.filter(({ name }) => !OURS.has(name));
}

/** Other variables of the daemon are the template's: SANDLOT_DEFAULT_USER, SANDLOT_WORKDIR, SANDLOT_EXEC_PORT. */
function environment({ env = [], workingDir }: Container, { publicKey, sandboxUid, execOpen }: Injection): EnvVar[] {
  const given = new Set(env.map(({ name }) => name));
  const defaults = {
    SANDLOT_EXEC_PORT: EXEC_PORT,
    ...(typeof workingDir === 'string' ? { SANDLOT_WORKDIR: workingDir } : {}),
  };
  const fixed = {
    SANDLOT_SANDBOX_UID: sandboxUid,
    SANDLOT_RUNTIME_DIR: STATE_FOLDER,
    SANDLOT_ENVD_PORT: String(ENVD_PORT),
    // Said in any case: what is not said here could come by envFrom.
    SANDLOT_EXEC_OPEN: String(execOpen),
    ...(publicKey === '' ? {} : { SANDLOT_RUNTIME_PUBLIC_KEY: publicKey }),
  };
  const added = [...Object.entries(defaults).filter(([name]) => !given.has(name)), ...Object.entries(fixed)];
  return added.map(([name, value]) => ({ name, value }));
}
