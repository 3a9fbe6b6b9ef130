import type { Instruction, Step, StepProblem } from './instruction.ts';

const GLOB = /[*?[{]/;
const FILES_HASH = /^[0-9a-f]{64}$/;
const MODE = /^[0-7]{3,4}$/;
/** As `useradd` accepts it on Debian, or a number. */
const USER = /^(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,10})$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

type Reader = (step: Step) => Instruction | StepProblem;

const readers: Readonly<Record<string, Reader>> = {
  RUN: readRun,
  COPY: readCopy,
  ENV: readEnv,
  WORKDIR: readWorkdir,
  USER: readUser,
};

/** Reads one step. Its problem is worded as clients of E2B know it. */
export function readStep(step: Step): Instruction | StepProblem {
  const read = Object.hasOwn(readers, step.type) ? readers[step.type] : undefined;
  if (read === undefined) return { problem: `command type ${step.type} is not implemented` };
  return read(step);
}

function readRun({ args: [command = '', user = ''] }: Step): Instruction | StepProblem {
  if (command.trim() === '') return { problem: 'RUN requires a command argument' };
  if (user !== '' && !USER.test(user)) return refuseUser(user);
  return { kind: 'run', command, ...(user !== '' && { user }) };
}

function readCopy({ args, filesHash }: Step): Instruction | StepProblem {
  const { source, destination, owner, mode } = nameArguments(args);
  const path = readSource(source);
  const problem = findHashProblem(filesHash) ?? findPathProblem({ source, destination, path });
  if (filesHash === undefined || path === undefined || problem !== undefined) return { problem: problem ?? '' };
  if (mode !== '' && !MODE.test(mode)) return { problem: `COPY: the mode ${mode} is not three or four octal digits` };
  const owned = readOwner(owner);
  if (owned === undefined) return refuseUser(owner);
  return { kind: 'copy', source: path, destination, ...owned, ...(mode !== '' && { mode }), filesHash };
}

function nameArguments([source = '', destination = '', owner = '', mode = '']: readonly string[]) {
  return { source, destination, owner, mode };
}

function findHashProblem(filesHash = ''): string | undefined {
  if (filesHash === '') return 'COPY requires files hash to be set';
  return FILES_HASH.test(filesHash) ? undefined : 'COPY: the files hash is not 64 lower-case hex digits';
}

interface Paths {
  readonly source: string;
  readonly destination: string;
  readonly path: string | undefined;
}

function findPathProblem({ source, destination, path }: Paths): string | undefined {
  if (source === '' || destination === '') return 'COPY requires a source and a destination argument';
  return path === undefined ? `COPY: the source ${source} is outside of the build context` : undefined;
}

/** `user:group`; `user` alone means the group of the same name. Undefined if it cannot be either. */
function readOwner(owner: string): { readonly owner?: string } | undefined {
  if (owner === '') return {};
  const [user = '', group = user, ...more] = owner.split(':');
  return more.length === 0 && USER.test(user) && USER.test(group) ? { owner: `${user}:${group}` } : undefined;
}

/** The path in the archive: a glob stands for the folder above it. Undefined if it leaves the context. */
function readSource(source: string): string | undefined {
  const glob = source.search(GLOB);
  const plain = glob === -1 ? source : source.slice(0, source.lastIndexOf('/', glob) + 1);
  const parts = plain.split('/').filter((part) => part !== '' && part !== '.');
  return parts.includes('..') ? undefined : parts.join('/');
}

function readEnv({ args }: Step): Instruction | StepProblem {
  if (args.length === 0 || args.length % 2 === 1) return { problem: 'ENV requires both a key and value arguments' };
  const variables: [string, string][] = [];
  for (let at = 0; at < args.length; at += 2) variables.push([args[at] ?? '', args[at + 1] ?? '']);
  const wrong = variables.find(([name, value]) => !VARIABLE.test(name) || value.includes('\0'));
  if (wrong !== undefined) return { problem: `ENV: ${JSON.stringify(wrong[0])} cannot be the name of a variable` };
  return { kind: 'env', variables };
}

function readWorkdir({ args: [path = ''] }: Step): Instruction | StepProblem {
  if (path === '') return { problem: 'WORKDIR requires a path argument' };
  if (path.includes('\0')) return { problem: 'WORKDIR: the path has a zero byte' };
  return { kind: 'workdir', path };
}

function readUser({ args: [name = '', sudo = ''] }: Step): Instruction | StepProblem {
  if (name === '') return { problem: 'USER requires a user name argument' };
  return USER.test(name) ? { kind: 'user', name, canSudo: sudo === 'true' } : refuseUser(name);
}

function refuseUser(user: string): StepProblem {
  return { problem: `${JSON.stringify(user)} cannot be a user: use lower-case letters, digits, _ and -, 32 at most` };
}
