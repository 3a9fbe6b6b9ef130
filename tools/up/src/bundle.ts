import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { BuildOptions } from 'esbuild';

/** Defines `require`, which CommonJS packages in the bundle use and an ES module lacks. */
const requireBanner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

/** A bundled service. */
export interface Bundle {
  /** Path of the program, one ES module that needs only Node. */
  readonly file: string;
  /** Size of the program in bytes. */
  readonly bytes: number;
}

/** It reads kubeconfig files, which no pod has. It is six times the size of everything else and stays in memory. */
const NOT_IN_IMAGES = ['@kubernetes/client-node'];

/** Makes one ES module of a program and all that it imports. */
export const forNode: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  // Only for debuggers: Node would keep 50 MiB of decoded source map in memory. Stack traces stay readable because the
  // bundle is not minified, and a comment above each part names its source file.
  sourcemap: 'external',
  sourcesContent: false,
  legalComments: 'none',
  mainFields: ['module', 'main'],
  // esbuild adds `import` or `require`, depending on how the package is loaded. Naming both here would give ES modules to
  // CommonJS.
  conditions: ['node'],
  banner: { js: requireBanner },
  logLevel: 'silent',
};

/**
 * Bundles a service's `src/main.ts` and everything it needs in a pod into `dist/main.js`. On a host, Node finds the one
 * package that the bundle leaves out in the checkout.
 */
export async function bundleService(folder: string): Promise<Bundle> {
  const outdir = join(folder, 'dist');
  const result = await build({
    entryPoints: [join(folder, 'src/main.ts')],
    outfile: join(outdir, 'main.js'),
    absWorkingDir: folder,
    ...forNode,
    external: NOT_IN_IMAGES,
    metafile: true,
  });
  const output = Object.entries(result.metafile.outputs).find(([path]) => path.endsWith('.js'))?.[1];
  return { file: join(outdir, 'main.js'), bytes: output?.bytes ?? 0 };
}

if (import.meta.main) {
  const bundle = await bundleService(resolve(process.argv[2] ?? '.'));
  process.stdout.write(`${bundle.file} ${(bundle.bytes / 1024 / 1024).toFixed(1)} MiB\n`);
}
