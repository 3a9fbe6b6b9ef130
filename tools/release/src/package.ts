import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleService, checkoutRoot } from '@sandlot/up';

/** Read from kubeconfig files by the package itself, so the bundle leaves it to npm. */
const LEFT_TO_NPM = '@kubernetes/client-node';

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Builds the npm package of the command line in a folder: one bundled program and what npm has to know. Returns the folder. */
export async function buildPackage(folder: string): Promise<string> {
  const source = join(checkoutRoot, 'tools/sandlot');
  const { file } = await bundleService(source);
  await mkdir(folder, { recursive: true });
  const program = join(folder, 'sandlot.js');
  await copyFile(file, program);
  await chmod(program, 0o755);
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(await describe(source), undefined, 2)}\n`);
  for (const name of ['LICENSE', 'CHANGELOG.md']) await copyFile(join(checkoutRoot, name), join(folder, name));
  await copyFile(join(source, 'README.md'), join(folder, 'README.md'));
  return folder;
}

async function describe(source: string): Promise<object> {
  const { version } = await readManifest(join(source, 'package.json'));
  const { dependencies = {} } = await readManifest(join(checkoutRoot, 'libs/kube/package.json'));
  return {
    name: '@sandlot/cli',
    version,
    description: 'Command line for operators of Sandlot',
    license: 'Apache-2.0',
    repository: 'github:sandlot/sandlot',
    type: 'module',
    bin: { sandlot: './sandlot.js' },
    engines: { node: '>=24' },
    dependencies: { [LEFT_TO_NPM]: dependencies[LEFT_TO_NPM] },
  };
}

async function readManifest(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(path, 'utf8')) as Manifest;
}
