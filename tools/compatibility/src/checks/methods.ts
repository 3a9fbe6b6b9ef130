import { getRow } from '../model.ts';
import { methodTables } from '../tables/e2b/methods.ts';
import { readOrFail } from './read.ts';
import type { Read } from './read.ts';
import { TYPINGS } from './operations.ts';
import { listMethods } from './typings.ts';

/** Classes of the client by the name that rows have before a method. */
const CLASSES: Readonly<Record<string, string>> = {
  SandboxApi: 'Sandbox',
  Sandbox: 'Sandbox',
  Commands: 'commands',
  CommandHandle: 'handle',
  Pty: 'pty',
  Filesystem: 'files',
  WatchHandle: 'watch',
  Git: 'git',
  Volume: 'Volume',
  Secret: 'Secret',
  TemplateBase: 'Template',
};

/** Methods of the client for JavaScript that no row has. */
export function findMethodProblems(read: Read): readonly string[] {
  const typings = readOrFail(read, TYPINGS);
  const names = new Set(methodTables.flatMap(({ items }) => items.map((item) => getRow(item).name)));
  return Object.entries(CLASSES).flatMap(([name, owner]) =>
    listMethods(typings, name)
      .map((method) => `${owner}.${method}`)
      .filter((method) => !names.has(method))
      .map((method) => `methods: ${method} is no item`),
  );
}
