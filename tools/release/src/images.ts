import { isOfChart, listImageRecipes } from '@sandlot/up';
import type { ImageName, ImageRecipe } from '@sandlot/up';

/** Of other projects: the chart names their public images. */
const FOREIGN: ReadonlySet<ImageName> = new Set(['nats', 'redis', 'prometheus', 'jaeger']);
/** A stand-in of the local cluster. */
const LOCAL: ReadonlySet<ImageName> = new Set(['debian', 'busybox']);

/** Paths do not matter for the list. */
const NO_PROGRAMS = {
  natsServer: '',
  busybox: '',
  runtime: '',
  node: '',
  egress: '',
  imagePlane: '',
  volumeServer: '',
  installer: { installer: '', runsc: '', shim: '' },
};

/** One image of a release. */
export interface ReleaseImage {
  readonly name: ImageName;
  /** Its Dockerfile, from the root of the checkout. */
  readonly dockerfile: string;
  /** The image of the release that it builds on; empty: the one its Dockerfile names. */
  readonly base: string;
}

/** Lists the images that a release publishes, in steps: those of a step build on earlier ones only. */
export function listReleaseImages(): readonly (readonly ReleaseImage[])[] {
  const images = listImageRecipes(NO_PROGRAMS)
    .filter(({ name }) => !FOREIGN.has(name) && !LOCAL.has(name))
    .map(describe);
  return listSteps(images);
}

/** Throws for an image whose base is none of the release. */
function listSteps(images: readonly ReleaseImage[]): readonly (readonly ReleaseImage[])[] {
  const steps: ReleaseImage[][] = [];
  const built = new Set(['']);
  for (let left = images; left.length > 0; left = left.filter(({ name }) => !built.has(name))) {
    const step = left.filter(({ base }) => built.has(base));
    if (step.length === 0) throw new Error(`no image of the release is the base of ${left[0]?.name ?? ''}`);
    steps.push(step);
    for (const { name } of step) built.add(name);
  }
  return steps;
}

function describe({ name, folder, base }: ImageRecipe): ReleaseImage {
  return { name, dockerfile: `images/${folder}/Dockerfile`, base: typeof base === 'object' ? base.image : '' };
}

/** The part of the chart's values that names images. */
export interface ImageValues {
  readonly image: { readonly registry: string; readonly repository: string };
  readonly nats: { readonly image: ForeignImage };
  readonly redis: { readonly image: ForeignImage };
  /** Of the sandbox of `helm test`. */
  readonly tests: { readonly image: ForeignImage };
}

interface ForeignImage {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
}

/** Lists every image that an installation of this version pulls, whatever its values: first ours, then foreign ones. */
export function listPulledImages({ image, nats, redis, tests }: ImageValues, version: string): readonly string[] {
  const ours = listReleaseImages()
    .flat()
    .toSorted((a, b) => Number(isOfChart(b.name)) - Number(isOfChart(a.name)))
    .map(({ name }) => `${image.registry}/${image.repository}/${name}:${version}`);
  const foreign = [nats.image, redis.image, tests.image].map(
    ({ registry, repository, tag }) => `${registry}/${repository}:${tag}`,
  );
  return [...ours, ...foreign];
}
