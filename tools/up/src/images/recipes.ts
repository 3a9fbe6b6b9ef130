import { join } from 'node:path';
import { checkoutRoot } from '../paths.ts';
import type { ContextFile } from './content-key.ts';

/** The controllers of the chart, by the name of their service and image. */
export const controllerNames = ['sandbox-controller', 'warmpool-controller', 'claim-controller'] as const;
export type ControllerName = (typeof controllerNames)[number];
/** Every service of the chart that is a bundle of ours on Node: the controllers, and what serves requests. */
export const serviceNames = [...controllerNames, 'api', 'gateway'] as const;
type ServiceName = (typeof serviceNames)[number];
export type ImageName =
  | ServiceName
  | 'nats'
  | 'redis'
  | 'busybox'
  | 'debian'
  | 'runtime'
  | 'sandbox-base'
  | 'code-interpreter'
  | 'prometheus'
  | 'jaeger';

/** A root file system made by mmdebstrap. */
export type BaseName = 'runtime' | 'debian';

export interface ImageRecipe {
  readonly name: ImageName;
  /** Folder under images/. */
  readonly folder: string;
  /** What BASE_IMAGE is: a root file system, or an image that comes before; absent where the Dockerfile's own is meant. */
  readonly base?: BaseName | { readonly image: ImageName } | undefined;
  readonly context: readonly ContextFile[];
  /** Requirements of the image's Python; the context then has a folder `wheels` with them. */
  readonly wheels?: ContextFile | undefined;
}

/** Programs that go into images. */
export interface ImagePrograms {
  readonly natsServer: string;
  readonly busybox: string;
  /** The daemon of the sandboxes. */
  readonly runtime: string;
  /** Present when Prometheus and Jaeger are wanted too. */
  readonly jaeger?: string | undefined;
}

const node = join(checkoutRoot, 'node_modules/node/bin/node');

/** Every image of the local cluster. The bundles of the services must have been made. */
export function imageRecipes(programs: ImagePrograms): readonly ImageRecipe[] {
  return [
    ...serviceNames.map(serviceRecipe),
    { name: 'nats', folder: 'nats', context: [{ target: 'nats-server', source: programs.natsServer }] },
    { name: 'redis', folder: 'redis', base: 'debian', context: [] },
    {
      name: 'busybox',
      folder: 'busybox',
      context: [
        { target: 'busybox', source: programs.busybox },
        ...['passwd', 'group'].map((file) => fileOf('busybox', file)),
      ],
    },
    { name: 'debian', folder: 'debian', base: 'debian', context: [] },
    { name: 'runtime', folder: 'runtime', context: [{ target: 'sandlot-runtime', source: programs.runtime }] },
    { name: 'sandbox-base', folder: 'sandbox-base', base: 'debian', context: [] },
    {
      name: 'code-interpreter',
      folder: 'code-interpreter',
      base: { image: 'sandbox-base' },
      context: ['server.py', 'sandlot_charts.py', 'code-interpreter'].map((file) => fileOf('code-interpreter', file)),
      wheels: fileOf('code-interpreter', 'requirements.txt'),
    },
    ...(programs.jaeger === undefined ? [] : observabilityRecipes(programs.jaeger)),
  ];
}

function fileOf(folder: string, file: string): ContextFile {
  return { target: file, source: join(checkoutRoot, 'images', folder, file) };
}

function observabilityRecipes(jaeger: string): readonly ImageRecipe[] {
  return [
    { name: 'prometheus', folder: 'prometheus', base: 'debian', context: [] },
    { name: 'jaeger', folder: 'jaeger', context: [{ target: 'jaeger', source: jaeger }] },
  ];
}

function serviceRecipe(name: ServiceName): ImageRecipe {
  const bundle = { target: 'main.js', source: join(checkoutRoot, 'services', name, 'dist/main.js') };
  return { name, folder: 'controller', base: 'runtime', context: [{ target: 'node', source: node }, bundle] };
}
