import { badRequest } from '../../errors/api-error.ts';

/** The name that a client chose for the Sandbox, or its beginning. */
export interface SandboxNameWish {
  readonly text: string;
  /** The API completes the name. */
  readonly isPrefix: boolean;
}

/** Names of Pods and Services: they are parts of host names. */
const MAX_LENGTH = 63;
/** Length of what the API appends to a prefix. */
export const SUFFIX_LENGTH = 8;
const NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const PREFIX = /^[a-z][-a-z0-9]*$/;

/** Reads `sandbox-name`. Throws an ApiError 400. */
export function readSandboxName(value: string, key: string): SandboxNameWish {
  if (value.length <= MAX_LENGTH && NAME.test(value)) return { text: value, isPrefix: false };
  throw badRequest(
    `${key}: expected a lower-case letter, then letters a-z, digits and "-", no "-" at the end, at most ${MAX_LENGTH} in all`,
  );
}

/** Reads `sandbox-generate-name`. Throws an ApiError 400. */
export function readSandboxNamePrefix(value: string, key: string): SandboxNameWish {
  const longest = MAX_LENGTH - SUFFIX_LENGTH;
  if (value.length <= longest && PREFIX.test(value)) return { text: value, isPrefix: true };
  throw badRequest(`${key}: expected a lower-case letter, then letters a-z, digits and "-", at most ${longest} in all`);
}
