// Volumes that a create mounts (docs/reference/e2b-api.md#volumes).
import { badRequest } from '../../errors/api-error.ts';
import type { ControlKeys } from './control-keys.ts';

/** A volume by its name, and where the sandbox has it. */
export interface VolumeMountRequest {
  readonly name: string;
  readonly path: string;
}

/** Much of a value that an error repeats. */
const MOST_SHOWN = 256;

/** Throws an ApiError 400 for keys that exclude volumes. What is wrong with the mounts themselves is said with what only the cluster knows. */
export function readVolumeMounts(
  given: readonly VolumeMountRequest[],
  { createOnNoStock, skipInitRuntime }: ControlKeys,
): readonly VolumeMountRequest[] {
  if (given.length === 0) return [];
  if (createOnNoStock === false) {
    throw badRequest('create-on-no-stock=false excludes volumeMounts: members of the pool may lack the volumes');
  }
  if (skipInitRuntime === true) throw badRequest('skip-init-runtime=true excludes volumeMounts');
  return given;
}

/** What is wrong with the mounts, each with its number; empty: nothing. */
export function listMountProblems(
  mounts: readonly VolumeMountRequest[],
  names: ReadonlySet<string>,
): readonly string[] {
  const paths = mounts.map(({ path }) => tidyPath(path));
  return mounts.flatMap(({ name, path }, index) => {
    const problems = [
      ...(names.has(name) ? [] : [`volume '${name.slice(0, MOST_SHOWN)}' not found`]),
      ...listPathProblems(path),
      ...(paths.indexOf(tidyPath(path)) < index ? [`path '${path.slice(0, MOST_SHOWN)}' is already used`] : []),
    ];
    return problems.map((problem) => `volume mount #${index}: ${problem}`);
  });
}

function listPathProblems(path: string): readonly string[] {
  const parts = path.split('/');
  return [
    ...(path.startsWith('/') ? [] : ['path must be absolute']),
    ...(parts.includes('.') || parts.includes('..') ? ["path must not contain any '.' or '..' components"] : []),
    ...(/\p{Cc}/u.test(path) ? ['path must not contain control characters'] : []),
  ];
}

/** Two spellings of one path would be two mounts. */
export function tidyPath(path: string): string {
  return `/${path
    .split('/')
    .filter((part) => part !== '')
    .join('/')}`;
}
