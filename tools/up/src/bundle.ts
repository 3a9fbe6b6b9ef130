import { join, resolve } from 'node:path';
import { build } from 'esbuild';

/** CommonJS packages inside the bundle ask for `require`, which a module does not have. */
const requireBanner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

/** What one bundle consists of. */
export interface Bundle {
  /** The program: one ES module that needs nothing but Node. */
  readonly file: string;
  /** Size of the program in bytes. */
  readonly bytes: number;
}

/** Reads kubeconfig files, which no pod has; six times the size of everything else, and memory for as long as it runs. */
const NOT_IN_IMAGES = ['@kubernetes/client-node'];

/**
 * Bundles a service's `src/main.ts` with everything it needs in a pod into `dist/main.js`. On a host, the one package
 * that is left out is found beside the checkout.
 */
export async function bundleService(folder: string): Promise<Bundle> {
  const outdir = join(folder, 'dist');
  const result = await build({
    entryPoints: [join(folder, 'src/main.ts')],
    outfile: join(outdir, 'main.js'),
    absWorkingDir: folder,
    bundle: true,
    external: NOT_IN_IMAGES,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // For a debugger. Node keeps a decoded map in memory, 50 MiB of it, so the text itself stays readable instead: stack traces
    // name functions, and the line leads to the comment that names the source.
    sourcemap: 'external',
    sourcesContent: false,
    legalComments: 'none',
    mainFields: ['module', 'main'],
    // Besides `import` or `require`, as each package is asked for: with both, CommonJS would be given modules.
    conditions: ['node'],
    banner: { js: requireBanner },
    metafile: true,
    logLevel: 'silent',
  });
  const output = Object.entries(result.metafile.outputs).find(([path]) => path.endsWith('.js'))?.[1];
  return { file: join(outdir, 'main.js'), bytes: output?.bytes ?? 0 };
}

if (import.meta.main) {
  const bundle = await bundleService(resolve(process.argv[2] ?? '.'));
  process.stdout.write(`${bundle.file} ${(bundle.bytes / 1024 / 1024).toFixed(1)} MiB\n`);
}
