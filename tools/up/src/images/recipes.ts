import { join } from 'node:path';
import { mcpServers } from '../bundle-mcp.ts';
import { checkoutRoot } from '../paths.ts';
import type { ContextFile } from './content-key.ts';

/** Names of the chart's controllers, which are also the names of their services and images. */
export const controllerNames = ['sandbox-controller', 'warmpool-controller', 'claim-controller'] as const;
export type ControllerName = (typeof controllerNames)[number];
/** Names of all our Node processes in the chart: the controllers, the API, the gateway, who declares the streams, who makes credentials, and those of hibernation, egress, template builds, volumes and webhooks. */
export const serviceNames = [
  ...controllerNames,
  'api',
  'gateway',
  'streams',
  'key-keeper',
  'snapshot-controller',
  'egress',
  'template-builder',
  'volume-controller',
  'webhooks',
] as const;
type ServiceName = (typeof serviceNames)[number];
export type ImageName =
  | ServiceName
  | 'nats'
  | 'redis'
  | 'busybox'
  | 'debian'
  | 'runtime'
  | 'node'
  | 'node-installer'
  | 'egress-proxy'
  | 'image-plane'
  | 'volume-server'
  | 'sandbox-base'
  | 'code-interpreter'
  | 'code-interpreter-full'
  | 'mcp-gateway'
  | 'prometheus'
  | 'jaeger';

const chartImages: ReadonlySet<ImageName> = new Set([
  ...serviceNames,
  'nats',
  'redis',
  'runtime',
  'node',
  'node-installer',
  'egress-proxy',
  'image-plane',
  'volume-server',
]);

/** Whether the chart names this image. The others are for sandboxes and observers. */
export function isOfChart(name: ImageName): boolean {
  return chartImages.has(name);
}

/** A root file system that mmdebstrap builds. */
export type BaseName = 'runtime' | 'debian';

export interface ImageRecipe {
  readonly name: ImageName;
  /** Folder under images/. */
  readonly folder: string;
  /** Value of BASE_IMAGE: a root file system, or an earlier image. Absent to use the Dockerfile's default. */
  readonly base?: BaseName | { readonly image: ImageName } | undefined;
  readonly context: readonly ContextFile[];
  /** Requirements file of the image's Python. The build context then has a folder `wheels` with the packages. */
  readonly wheels?: ContextFile | undefined;
}

/** Paths of the installer and of what it installs. */
export interface InstallerPrograms {
  readonly installer: string;
  readonly runsc: string;
  readonly shim: string;
}

/** Paths of the programs to copy into images. */
export interface ImagePrograms {
  readonly natsServer: string;
  readonly busybox: string;
  /** The daemon inside sandboxes. */
  readonly runtime: string;
  /** The agent of a node. */
  readonly node: string;
  /** The data plane of egress. */
  readonly egress: string;
  /** The image plane of template builds. */
  readonly imagePlane: string;
  /** The file server of volumes. */
  readonly volumeServer: string;
  /** Set to build the image that installs gVisor on nodes, which the local cluster does without. */
  readonly installer?: InstallerPrograms | undefined;
  /** Set to build Prometheus and Jaeger too. */
  readonly jaeger?: string | undefined;
}

const node = join(checkoutRoot, 'node_modules/node/bin/node');

/** Returns the recipe of every image of the local cluster. Bundle the services first. */
export function listImageRecipes(programs: ImagePrograms): readonly ImageRecipe[] {
  return [
    ...serviceNames.map(buildServiceRecipe),
    { name: 'nats', folder: 'nats', context: [{ target: 'nats-server', source: programs.natsServer }] },
    { name: 'redis', folder: 'redis', base: 'debian', context: [] },
    {
      name: 'busybox',
      folder: 'busybox',
      context: [
        { target: 'busybox', source: programs.busybox },
        ...['passwd', 'group'].map((file) => buildFile('busybox', file)),
      ],
    },
    { name: 'debian', folder: 'debian', base: 'debian', context: [] },
    { name: 'runtime', folder: 'runtime', context: [{ target: 'sandlot-runtime', source: programs.runtime }] },
    { name: 'node', folder: 'node', context: [{ target: 'sandlot-node', source: programs.node }] },
    {
      name: 'egress-proxy',
      folder: 'egress-proxy',
      base: 'debian',
      context: [{ target: 'sandlot-egress', source: programs.egress }],
    },
    {
      name: 'image-plane',
      folder: 'image-plane',
      base: 'debian',
      context: [{ target: 'sandlot-image', source: programs.imagePlane }],
    },
    {
      name: 'volume-server',
      folder: 'volume-server',
      context: [{ target: 'sandlot-volumes', source: programs.volumeServer }],
    },
    ...listInterpreterRecipes(),
    ...(programs.installer === undefined ? [] : [buildInstallerRecipe(programs.installer)]),
    ...(programs.jaeger === undefined ? [] : listObservabilityRecipes(programs.jaeger)),
  ];
}

/** The sandboxes of the templates `base` and `code-interpreter-…`, each based on the one before. */
function listInterpreterRecipes(): readonly ImageRecipe[] {
  const own = ['server.py', 'contexts.py', 'jupyter_kernel.py', 'node_kernel.py', 'lines.py', 'variables.py'];
  const scripts = ['kernel.mjs', 'control.mjs', 'imports.mjs'].map((file) => `javascript/${file}`);
  const files = ['code-interpreter', 'sandlot_charts.py', 'kernels/bash/kernel.json', ...own, ...scripts];
  const full = ['kernels/ir/kernel.json', 'kernels/java/kernel.json'];
  return [
    { name: 'sandbox-base', folder: 'sandbox-base', base: 'debian', context: [] },
    {
      name: 'code-interpreter',
      folder: 'code-interpreter',
      base: { image: 'sandbox-base' },
      context: [
        { target: 'node', source: node },
        ...['package.json', 'dist/acorn.mjs'].map((file) => ({
          target: `javascript/node_modules/acorn/${file}`,
          source: join(checkoutRoot, 'node_modules/acorn', file),
        })),
        ...files.map((file) => buildFile('code-interpreter', file)),
      ],
      wheels: buildFile('code-interpreter', 'requirements.txt'),
    },
    {
      name: 'code-interpreter-full',
      folder: 'code-interpreter-full',
      base: { image: 'code-interpreter' },
      context: full.map((file) => buildFile('code-interpreter-full', file)),
      wheels: buildFile('code-interpreter-full', 'requirements.txt'),
    },
    buildMcpRecipe(),
  ];
}

/** The sandbox with servers of MCP. It shares the layers of the code interpreter, for its Node. */
function buildMcpRecipe(): ImageRecipe {
  const bundles = ['gateway.mjs', ...mcpServers.map(({ name }) => `servers/${name}.mjs`), 'servers/package.json'];
  return {
    name: 'mcp-gateway',
    folder: 'mcp-gateway',
    base: { image: 'code-interpreter' },
    context: [
      ...bundles.map((file) => ({
        target: `dist/${file}`,
        source: join(checkoutRoot, 'tools/mcp-gateway/dist', file),
      })),
      ...['mcp-gateway', 'boot'].map((file) => buildFile('mcp-gateway', file)),
    ],
    wheels: buildFile('mcp-gateway', 'requirements.txt'),
  };
}

export function buildInstallerRecipe({ installer, runsc, shim }: InstallerPrograms): ImageRecipe {
  const context = [
    { target: 'sandlot-node-installer', source: installer },
    { target: 'runsc', source: runsc },
    { target: 'containerd-shim-runsc-v1', source: shim },
  ];
  return { name: 'node-installer', folder: 'node-installer', context };
}

function buildFile(folder: string, file: string): ContextFile {
  return { target: file, source: join(checkoutRoot, 'images', folder, file) };
}

function listObservabilityRecipes(jaeger: string): readonly ImageRecipe[] {
  return [
    { name: 'prometheus', folder: 'prometheus', base: 'debian', context: [] },
    { name: 'jaeger', folder: 'jaeger', context: [{ target: 'jaeger', source: jaeger }] },
  ];
}

function buildServiceRecipe(name: ServiceName): ImageRecipe {
  const bundle = { target: 'main.js', source: join(checkoutRoot, 'services', name, 'dist/main.js') };
  return { name, folder: 'controller', base: 'runtime', context: [{ target: 'node', source: node }, bundle] };
}
