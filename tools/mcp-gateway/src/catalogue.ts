// The servers of this installation, under their names in Docker's MCP catalogue, with the settings they have there.
import { z } from 'zod';
import { isWithin } from './is-within.ts';

/** A program that speaks MCP over its standard input and output. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A server that a configuration may name. */
export interface Entry {
  /** Refuses what the server does not know. */
  readonly settings: z.ZodType<Settings>;
  readonly build: (settings: Settings, folders: Folders) => Command;
  /** Says why a call is refused before the server sees it. Absent if the program keeps to its settings by itself. */
  readonly guard?: (given: Readonly<Record<string, unknown>>, settings: Settings) => Promise<string | undefined>;
}

export interface Settings {
  readonly paths?: readonly string[] | undefined;
}

export interface Folders {
  /** One module per server in JavaScript, `<name>.mjs`. */
  readonly servers: string;
  /** Packages of the servers in Python. */
  readonly python: string;
  /** Where a server keeps what it has to remember. */
  readonly home: string;
}

export type Catalogue = Readonly<Record<string, Entry>>;

const MOST_PATHS = 32;
const path = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*$/, 'expected an absolute path');
const paths = z.array(path).min(1).max(MOST_PATHS);
const none = z.strictObject({});

/** The address of the program `node` in the image. */
const NODE = process.execPath;

function buildNode(name: string, args: readonly string[] = [], env: Command['env'] = {}): Entry['build'] {
  return (_, { servers }) => ({ command: NODE, args: [`${servers}/${name}.mjs`, ...args], env });
}

/** `-P` keeps modules in the working directory, which commands of the sandbox write to, out of the search path. */
function buildPython(module: string, args: readonly string[] = []): Entry['build'] {
  return (_, { python }) => ({
    command: '/usr/bin/python3',
    args: ['-P', '-m', module, ...args],
    env: { PYTHONPATH: python, PYTHONDONTWRITEBYTECODE: '1' },
  });
}

export const catalogue: Catalogue = {
  fetch: { settings: none, build: buildPython('mcp_server_fetch') },
  filesystem: {
    settings: z.strictObject({ paths }),
    build: ({ paths = [] }, folders) => buildNode('filesystem', paths)({}, folders),
  },
  git: {
    settings: z.strictObject({ paths }),
    build: buildPython('mcp_server_git'),
    // The program could keep to one repository only, which would have to be there before it starts.
    guard: async ({ repo_path: path }, settings) => {
      const allowed = settings.paths ?? [];
      return (await isWithin(path, allowed)) ? undefined : `repo_path is not within ${allowed.join(', ')}`;
    },
  },
  memory: {
    settings: none,
    build: (_, folders) =>
      buildNode('memory', [], { MEMORY_FILE_PATH: `${folders.home}/.mcp-memory.jsonl` })({}, folders),
  },
  sequentialthinking: { settings: none, build: buildNode('sequentialthinking') },
  time: { settings: none, build: buildPython('mcp_server_time') },
};
