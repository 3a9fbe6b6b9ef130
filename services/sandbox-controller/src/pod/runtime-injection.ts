import type { Container, EnvVar, PodSpec } from '@sandlot/kube/objects';
import type { RecordsPlace, RuntimeSettings } from '../plan/snapshot.ts';
import { IDENTITY_VARIABLE } from './identity-text.ts';
import {
  buildDelivery,
  ENVD_PORT,
  EXEC_PORT,
  EXEC_PORT_VARIABLE,
  KEY_FILE_VARIABLE,
  PROGRAM,
  SANDBOXD_PORTS,
  SANDBOXD_PORTS_VARIABLE,
  STATE_FOLDER,
} from './runtime-delivery.ts';
import type { Delivery, MountedKey } from './runtime-delivery.ts';
import { buildStartupProbe, findProbeRefusal } from './startup-probe.ts';

export interface Injection {
  readonly image: string;
  readonly publicKey: string;
  /** By these keys the daemon recognises the gateway. */
  readonly gatewayKeys: readonly string[];
  readonly sandboxUid: string;
  readonly records: RecordsPlace;
  /** Whether no claim serves this Sandbox, so that nothing will open its agent-sandbox API: it answers the gateway at once. */
  readonly isAuthored: boolean;
  /** Whether the NetworkPolicy of a template is in place before the Pod starts. */
  readonly isGuarded: boolean;
  /** The authority of the egress proxy in PEM; empty: the Pod does not meet the proxy, or there is no authority. */
  readonly egressCa: string;
  /** The key that the Pod mounts, with the program as a volume; undefined: an installer brings both. */
  readonly key: MountedKey | undefined;
}

/**
 * The Pod spec with the daemon in its first container, started by an entry wrapper where the container sets `command`, else
 * by its postStart hook: docs/reference/sandbox-template.md#runtime-injection. The Sandbox keeps its template as written.
 * Call it for specs that {@link findInjectionRefusal} accepts.
 */
export function injectRuntime(spec: PodSpec, injection: Injection): PodSpec {
  const [first, ...others] = spec.containers;
  if (first === undefined || hasDaemon(spec)) return spec;
  const delivery = buildDelivery(injection.image, first, injection.key);
  const initContainers = [...delivery.initContainers, ...(spec.initContainers ?? [])];
  return {
    ...spec,
    volumes: [...(spec.volumes ?? []), ...delivery.volumes],
    ...(initContainers.length === 0 ? {} : { initContainers }),
    containers: [withDaemon(first, injection, delivery), ...others],
  };
}

/** Why the daemon cannot start in this Pod, as a text for the owner; undefined when it can. */
export function findInjectionRefusal(
  spec: PodSpec,
  { image, publicKey, delivery, identitySeed }: Omit<RuntimeSettings, 'gatewayKeys'>,
): string | undefined {
  const [first] = spec.containers;
  if (first === undefined || hasDaemon(spec)) return undefined;
  if (image === '') {
    return 'runtime.inject needs the image of the daemon, and the installation has none; set spec.runtime.image or the chart value runtime.image';
  }
  if (publicKey === '') {
    return 'runtime.inject needs the public key of the installation, without which the daemon would obey its first caller; set RUNTIME_PUBLIC_KEY of the sandbox-controller';
  }
  if (delivery === 'ImageVolume' && identitySeed === undefined) {
    return 'runtime.inject needs the seed of the installation, from which the key of a Sandbox comes; set RUNTIME_IDENTITY_SEED of the sandbox-controller, or the chart value runtime.delivery to InitContainer';
  }
  return findPortRefusal(first) ?? findRecordsRefusal(first) ?? findHookRefusal(first) ?? findProbeRefusal(first);
}

/** The variables by which a template switches APIs of the daemon on or off, and the one value besides 0 that each takes. */
const SWITCHES = [
  { variable: EXEC_PORT_VARIABLE, ports: EXEC_PORT, what: 'the agent-sandbox API' },
  { variable: SANDBOXD_PORTS_VARIABLE, ports: SANDBOXD_PORTS, what: 'the dialect of sandboxd' },
] as const;

/** The gateway protects an API only on the ports it knows. */
function findPortRefusal({ name, env = [] }: Container): string | undefined {
  for (const { variable, ports, what } of SWITCHES) {
    const given = env.findLast((each) => each.name === variable);
    if (given === undefined || given.value === ports || given.value === '0') continue;
    return `runtime.inject takes no ${variable} but ${ports} and 0, which switches ${what} off; container "${name}" has another`;
  }
  return undefined;
}

/** The daemon would not start. */
function findRecordsRefusal({ name, env = [] }: Container): string | undefined {
  const given = env.findLast((each) => each.name === RECORDS);
  if (given === undefined || RECORDS_PLACES.includes(given.value ?? '')) return undefined;
  return `runtime.inject takes no ${RECORDS} but memory and log; container "${name}" has another`;
}

function findHookRefusal(first: Container): string | undefined {
  const hook = findPostStart(first);
  if (hasCommand(first) || hook === undefined || findCommand(hook) !== undefined) return undefined;
  return `runtime.inject cannot start the daemon in container "${first.name}": its postStart hook runs no command; set the container's command, or make the hook an exec`;
}

/** Whether a container brings a daemon of its own. */
export function hasDaemon({ containers, initContainers = [] }: PodSpec): boolean {
  return [...containers, ...initContainers].some(({ ports = [] }) =>
    ports.some(({ containerPort }) => containerPort === ENVD_PORT),
  );
}

function withDaemon(container: Container, injection: Injection, delivery: Delivery): Container {
  const { env = [], volumeMounts = [] } = container;
  const delivered = Object.entries(delivery.variables).map(([name, value]) => ({ name, value }));
  return {
    ...container,
    env: [...withoutReserved(env), ...listDaemonVariables(container, injection), ...delivered],
    volumeMounts: [...volumeMounts, ...delivery.mounts],
    ...startDaemon(container),
    ...buildStartupProbe(container),
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
/** The Pod in which the daemon runs. It makes every Pod differ, by which a restored daemon notices at once where it is. */
const POD_UID = 'SANDLOT_POD_UID';

/** The authority that programs in the sandbox trust beside the public ones: docs/reference/runtime.md#trust. */
const EGRESS_CA = 'SANDLOT_EGRESS_CA';

/** Whom the agent-sandbox API answers before a call says so: docs/agent-sandbox-clients.md#port-8888. */
const EXEC_OPEN = 'SANDLOT_EXEC_OPEN';
/** Whether it asks for the proof of the gateway also when a claim has opened it. */
const EXEC_PROOF = 'SANDLOT_EXEC_PROOF';

/** Where it keeps what processes do and print, and what the variable may say. */
const RECORDS = 'SANDLOT_RECORDS';
const RECORDS_PLACES: readonly string[] = ['memory', 'log'] satisfies RecordsPlace[];

/** Identity and trust of the daemon: the template must not set them. */
const RESERVED: ReadonlySet<string> = new Set([
  DAEMON_KEY,
  DAEMON_GATEWAY_KEYS,
  DAEMON_UID,
  POD_UID,
  'SANDLOT_RUNTIME_UNPROTECTED',
  'SANDLOT_RUNTIME_DIR',
  'SANDLOT_ENVD_PORT',
  EXEC_OPEN,
  EXEC_PROOF,
  EGRESS_CA,
  KEY_FILE_VARIABLE,
  IDENTITY_VARIABLE,
]);

function withoutReserved(env: readonly EnvVar[]): EnvVar[] {
  return env.filter(({ name }) => !RESERVED.has(name));
}

/** The template may set the other variables: SANDLOT_DEFAULT_USER, SANDLOT_WORKDIR, those of the ports and of commands. */
function listDaemonVariables(
  { env = [], workingDir }: Container,
  { publicKey, gatewayKeys, sandboxUid, records, isAuthored, isGuarded, egressCa }: Injection,
): EnvVar[] {
  const ownAccess = findOwnAccess(env);
  const given = new Set(env.map(({ name }) => name));
  const defaults = {
    [EXEC_PORT_VARIABLE]: EXEC_PORT,
    [SANDBOXD_PORTS_VARIABLE]: '0',
    [RECORDS]: records,
    ...(typeof workingDir === 'string' ? { SANDLOT_WORKDIR: workingDir } : {}),
  };
  const fixed = {
    [DAEMON_UID]: sandboxUid,
    [DAEMON_KEY]: publicKey,
    // These are always set: an unset variable could come from envFrom.
    [DAEMON_GATEWAY_KEYS]: gatewayKeys.join(','),
    [EGRESS_CA]: egressCa,
    SANDLOT_RUNTIME_DIR: STATE_FOLDER,
    SANDLOT_ENVD_PORT: String(ENVD_PORT),
    [EXEC_OPEN]: isAuthored ? ownAccess : 'false',
    [EXEC_PROOF]: String(!isGuarded && ownAccess === 'gateway'),
    SANDLOT_RUNTIME_UNPROTECTED: 'false',
  };
  const added = [...Object.entries(defaults).filter(([name]) => !given.has(name)), ...Object.entries(fixed)];
  const podUid = { name: POD_UID, valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } };
  return [...added.map(([name, value]) => ({ name, value })), podUid];
}

/** The author of a Sandbox or a template may open the API to every caller, and guard it by a NetworkPolicy. */
function findOwnAccess(env: readonly EnvVar[]): 'true' | 'gateway' {
  return env.findLast(({ name }) => name === EXEC_OPEN)?.value === 'true' ? 'true' : 'gateway';
}
