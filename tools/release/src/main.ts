// What the release workflow runs. See ../README.md.
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutRoot } from '@sandlot/up';
import { parse } from 'yaml';
import { getNotes } from './changelog.ts';
import { stageContext } from './context.ts';
import { listPulledImages, listReleaseImages } from './images.ts';
import type { ImageValues } from './images.ts';
import { buildPackage } from './package.ts';
import { findObstacles, parseTag } from './versions.ts';

const USAGE = `Usage: node tools/release/src/main.ts COMMAND
  check TAG             does everything that carries a version agree with the tag?
  images                JSON: the images to build, in steps
  context NAME FOLDER   stages the build context of an image, and prints its Dockerfile
  package FOLDER        builds the npm package of the command line
  image-list            every image that an installation pulls
  notes TAG             the section of CHANGELOG.md
`;

const read = (path: string): Promise<string> => readFile(join(checkoutRoot, path), 'utf8');

async function readChart(): Promise<{ version: string; appVersion: string }> {
  return parse(await read('charts/sandlot/Chart.yaml')) as { version: string; appVersion: string };
}

async function readPackages(): Promise<Readonly<Record<string, string>>> {
  const paths = globSync(['package.json', '{libs,services,tools}/*/package.json', 'e2e/package.json'], {
    cwd: checkoutRoot,
  });
  const versions = paths.map(async (path) => {
    const { version } = JSON.parse(await read(path)) as { version?: string };
    return [path, version ?? 'absent'] as const;
  });
  return Object.fromEntries(await Promise.all(versions));
}

async function check(tag: string): Promise<string> {
  const [chart, packages, changelog] = [await readChart(), await readPackages(), await read('CHANGELOG.md')];
  const obstacles = findObstacles({ tag, chart, packages, changelog });
  if (obstacles.length > 0) throw new Error(`${tag} cannot be released:\n  ${obstacles.join('\n  ')}`);
  return `${tag} can be released`;
}

async function printImages(): Promise<string> {
  const values = parse(await read('charts/sandlot/values.yaml')) as ImageValues;
  return listPulledImages(values, (await readChart()).appVersion).join('\n');
}

type Command = (first: string, second: string) => Promise<string> | string;

const commands: Readonly<Record<string, Command>> = {
  check,
  images: () => JSON.stringify(listReleaseImages()),
  context: stageContext,
  package: buildPackage,
  'image-list': printImages,
  notes: async (tag) => getNotes(await read('CHANGELOG.md'), parseTag(tag)),
};
const ARGUMENTS: Readonly<Record<string, number>> = { check: 1, context: 2, package: 1, notes: 1 };

async function run([name = '', ...rest]: readonly string[]): Promise<string> {
  const command = commands[name];
  if (command === undefined || rest.length !== (ARGUMENTS[name] ?? 0)) throw new Error(USAGE);
  return command(rest[0] ?? '', rest[1] ?? '');
}

try {
  process.stdout.write(`${await run(process.argv.slice(2))}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
