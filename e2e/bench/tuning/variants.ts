import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ControlPlaneOptions } from '@sandlot/local-cluster';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { CRDS } from '../claims/stage.ts';

/** One setting of the API server, or of what works beside it, that differs from the others' settings. */
export interface Variant {
  readonly name: string;
  /** What it stands for, for the report. */
  readonly what: string;
  readonly buildSettings: () => ControlPlaneOptions | Promise<ControlPlaneOptions>;
}

const withGates = (...gates: readonly string[]): (() => ControlPlaneOptions) => {
  return () => ({ apiServerFlags: [`--feature-gates=${gates.join(',')}`] });
};

export const VARIANTS: readonly Variant[] = [
  { name: 'usual', what: 'heap growth of 400 %, audit log, two served versions', buildSettings: () => ({}) },
  { name: 'gogc-100', what: "Go's own heap growth of 100 % (GOGC)", buildSettings: () => ({ heapGrowthPercent: 100 }) },
  { name: 'no-audit', what: 'no audit log', buildSettings: () => ({ audit: false }) },
  {
    name: 'cbor',
    what: 'custom resources stored as CBOR (alpha)',
    buildSettings: withGates('CBORServingAndStorage=true'),
  },
  {
    name: 'no-streaming-lists',
    what: 'initial lists as one answer (WatchList off)',
    buildSettings: withGates('WatchList=false', 'WatchListClient=false'),
  },
  {
    name: 'one-version',
    what: 'the CRDs serve one version',
    buildSettings: async () => ({ crds: [await writeOneVersion()] }),
  },
  { name: 'gc-5', what: '5 garbage collector workers instead of 20', buildSettings: () => withCollectors(5) },
  { name: 'gc-60', what: '60 garbage collector workers', buildSettings: () => withCollectors(60) },
];

function withCollectors(workers: number): ControlPlaneOptions {
  return { controllerManagerFlags: [`--concurrent-gc-syncs=${workers}`] };
}

const crd = z.looseObject({
  spec: z.looseObject({
    versions: z.array(z.looseObject({ storage: z.boolean() })),
    conversion: z.unknown().optional(),
  }),
});

/** Writes the CRDs with their stored version alone, and returns the folder. */
async function writeOneVersion(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'one-version-'));
  for (const file of await readdir(CRDS)) {
    const found = crd.parse(parse(await readFile(join(CRDS, file), 'utf8')));
    const versions = found.spec.versions.filter(({ storage }) => storage);
    const spec = Object.fromEntries(Object.entries(found.spec).filter(([field]) => field !== 'conversion'));
    await writeFile(join(folder, file), stringify({ ...found, spec: { ...spec, versions } }));
  }
  return folder;
}
