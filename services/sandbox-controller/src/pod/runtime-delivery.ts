import { DAEMON_VOLUME } from '@sandlot/api-types';
import type { Container, EnvVar, Volume } from '@sandlot/kube/objects';
import { formatIdentity, IDENTITY_VARIABLE } from './identity-text.ts';

/** Port of the daemon. A container that declares it has a daemon of its own, and the Pod stays as it is. */
export const ENVD_PORT = 49_983;
/** Port of the agent-sandbox API. It has no tokens; the gateway recognises it by this port and closes it to E2B clients. */
export const EXEC_PORT = '8888';
export const EXEC_PORT_VARIABLE = 'SANDLOT_EXEC_PORT';
/** Ports of the dialect of sandboxd: that of files, that of processes. It is off unless the template names them. */
export const SANDBOXD_PORTS = '8080,9090';
export const SANDBOXD_PORTS_VARIABLE = 'SANDLOT_SANDBOXD_PORTS';
/** Where the daemon keeps its state across restarts of the container. */
export const STATE_FOLDER = '/.sandlot';
const PROGRAM_FOLDER = `${STATE_FOLDER}/bin`;
/** The installer copies the program to this path; in its image it has the same name. */
export const PROGRAM = `${PROGRAM_FOLDER}/sandlot-runtime`;
const KEY_FOLDER = `${STATE_FOLDER}/identity`;
/** The file of the key in its folder, and the entry of its Secret. */
export const KEY_FILE = 'identity.key';
/** Names the file of the key for the daemon. */
export const KEY_FILE_VARIABLE = 'SANDLOT_IDENTITY_FILE';

/** Everything added to a Pod has a name with this prefix: docs/reference/sandbox-template.md#runtime-injection. */
const STATE_VOLUME = 'sandlot-runtime-state';
const KEY_VOLUME = 'sandlot-runtime-identity';
export const INSTALLER = 'sandlot-runtime-install';

/** The key that a Pod mounts. */
export interface MountedKey {
  readonly secretName: string;
  readonly publicKeyHash: string;
}

/** What a Pod gets so that its first container finds the program, the key and the state of the daemon. */
export interface Delivery {
  readonly volumes: readonly Volume[];
  readonly mounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly initContainers: readonly Container[];
  /** Always the same names: an unset variable could come from envFrom. */
  readonly variables: Readonly<Record<string, string>>;
}

/** The state holds secrets, so it is in memory. */
const STATE = { name: STATE_VOLUME, emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } };

/** Read-only: code in the sandbox cannot replace the program that the next start of the container runs. */
const MOUNTS = [
  { name: STATE_VOLUME, mountPath: STATE_FOLDER },
  { name: DAEMON_VOLUME, mountPath: PROGRAM_FOLDER, readOnly: true },
];

/** How the daemon gets into a Pod with this first container: with a key as a volume of its image, else by an installer. */
export function buildDelivery(image: string, first: Container, key: MountedKey | undefined): Delivery {
  return key === undefined ? buildInstalled(image, first) : buildMounted(image, first, key);
}

/** The program is on the node's disk: in memory it would cost the Pod its own. */
function buildInstalled(image: string, first: Container): Delivery {
  return {
    volumes: [{ name: DAEMON_VOLUME, emptyDir: { sizeLimit: '64Mi' } }, STATE],
    mounts: MOUNTS,
    initContainers: [buildInstaller(image, first)],
    variables: { [KEY_FILE_VARIABLE]: '', [IDENTITY_VARIABLE]: '' },
  };
}

/** Every user of the container may read the key: which one the daemon runs as stands in the image. */
const KEY_MODE = 0o444;

function buildMounted(image: string, { env = [] }: Container, { secretName, publicKeyHash }: MountedKey): Delivery {
  const optional = Object.values(listPorts(env)).flatMap((ports) => ports.split(',').map(Number));
  const ports = [ENVD_PORT, ...optional.filter((port) => port !== 0)];
  return {
    volumes: [
      { name: DAEMON_VOLUME, image: { reference: image, pullPolicy: 'IfNotPresent' } },
      { name: KEY_VOLUME, secret: { secretName, defaultMode: KEY_MODE } },
      STATE,
    ],
    mounts: [...MOUNTS, { name: KEY_VOLUME, mountPath: KEY_FOLDER, readOnly: true }],
    initContainers: [],
    variables: {
      [KEY_FILE_VARIABLE]: `${KEY_FOLDER}/${KEY_FILE}`,
      [IDENTITY_VARIABLE]: formatIdentity({ publicKeyHash, ports }),
    },
  };
}

/** The ports that the first container gives the daemon, by the names of their variables; 0 for what it switches off. */
function listPorts(env: readonly EnvVar[]): Record<string, string> {
  const find = (name: string): string | undefined => env.findLast((variable) => variable.name === name)?.value;
  return {
    [EXEC_PORT_VARIABLE]: find(EXEC_PORT_VARIABLE) ?? EXEC_PORT,
    [SANDBOXD_PORTS_VARIABLE]: find(SANDBOXD_PORTS_VARIABLE) ?? '0',
  };
}

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

function buildInstaller(image: string, { env = [], resources }: Container): Container {
  return {
    name: INSTALLER,
    image,
    imagePullPolicy: 'IfNotPresent',
    args: ['install', PROGRAM_FOLDER],
    // It publishes which ports the daemon serves with its key. Another server may have the port that the daemon leaves free.
    env: Object.entries(listPorts(env)).map(([variable, value]) => ({ name: variable, value })),
    resources: findInstallerResources(resources),
    securityContext: INSTALLER_SECURITY,
    volumeMounts: [{ name: DAEMON_VOLUME, mountPath: PROGRAM_FOLDER }],
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
