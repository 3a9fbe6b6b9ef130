// Servers of the tests: the real ones of npm, and one that dies, hangs and floods when asked to.
import { join } from 'node:path';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { catalogue } from '../src/catalogue.ts';
import type { Catalogue, Entry } from '../src/catalogue.ts';

const require = createRequire(import.meta.url);

/** Runs the package instead of the image's bundle of it. */
function fromPackage(name: string, entry: Entry | undefined): Entry {
  if (entry === undefined) throw new Error(`no server ${name}`);
  const file = require.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);
  return {
    ...entry,
    build: (settings, folders) => {
      const built = entry.build(settings, folders);
      return { ...built, args: [file, ...built.args.slice(1)] };
    },
  };
}

function runOwn(args: readonly string[]): Entry {
  return {
    settings: z.strictObject({}),
    build: () => ({ command: process.execPath, args: [join(import.meta.dirname, 'fragile.ts'), ...args], env: {} }),
  };
}

export const testCatalogue: Catalogue = {
  filesystem: fromPackage('filesystem', catalogue['filesystem']),
  memory: fromPackage('memory', catalogue['memory']),
  sequentialthinking: fromPackage('sequential-thinking', catalogue['sequentialthinking']),
  fragile: runOwn([]),
  twin: runOwn([]),
  broken: runOwn(['broken']),
};
