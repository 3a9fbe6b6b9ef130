import { posix } from 'node:path';
import { assertFits, expandVariables } from './expand.ts';
import type { Instruction, InstructionOf } from './instruction.ts';

/** What earlier steps leave to later ones. User and workdir also become those of the sandboxes; the environment does not. */
export interface BuildState {
  readonly user: string;
  /** Absolute. Undefined: the home of the user. */
  readonly workdir?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

/** The state after the base step, which creates the user. */
export const initialState: BuildState = { user: 'user', env: {} };

/** Returns the state after a step. Throws a VariablesTooLong. `login` is the environment of a login shell of root, which `ENV` may refer to. */
export function advanceState(
  state: BuildState,
  instruction: Instruction,
  login: Readonly<Record<string, string>>,
): BuildState {
  switch (instruction.kind) {
    case 'run':
    case 'copy':
      return state;
    case 'env':
      return { ...state, env: addVariables(state, instruction, login) };
    case 'workdir':
      return { ...state, workdir: posix.resolve(state.workdir ?? '/', instruction.path) };
    case 'user':
      return { ...state, user: instruction.name };
  }
}

function addVariables(
  state: BuildState,
  instruction: InstructionOf<'env'>,
  login: Readonly<Record<string, string>>,
): Record<string, string> {
  const env = { ...state.env, ...expandAll(state, instruction, login) };
  assertFits(env);
  return env;
}

/** All values see the variables of before the step. */
function expandAll(
  { env }: BuildState,
  { variables }: InstructionOf<'env'>,
  login: Readonly<Record<string, string>>,
): Record<string, string> {
  const known = { ...login, ...env };
  return Object.fromEntries(variables.map(([name, value]) => [name, expandVariables(value, known)]));
}

/** Whether the step needs the environment of a login shell. */
export function needsLogin(instruction: Instruction): boolean {
  return instruction.kind === 'env' && instruction.variables.some(([, value]) => value.includes('$'));
}

/** Where a COPY goes. A trailing slash is kept, since it means a directory. */
export interface Destination {
  /** `home`: the path is relative to the home of the user of the state, which only the image knows. */
  readonly from: 'root' | 'home';
  readonly path: string;
}

export function resolveDestination({ workdir }: BuildState, destination: string): Destination {
  const isDirectory = /(?:^|\/)\.{0,2}$/.test(destination);
  const finish = (path: string): string => (isDirectory && !path.endsWith('/') ? `${path}/` : path);
  if (posix.isAbsolute(destination)) return { from: 'root', path: finish(posix.normalize(destination)) };
  if (workdir !== undefined) return { from: 'root', path: finish(posix.resolve(workdir, destination)) };
  // Resolved from the root first, so that `..` does not leave the home.
  return { from: 'home', path: finish(posix.resolve('/', destination)).slice(1) };
}
