import { integer, secret } from '@sandlot/config';
import type { Secret } from '@sandlot/config';
import { TokenKeys } from './token-keys.ts';

/** Settings of a process that derives tokens of sandboxes, from the runtime Secret of the installation. */
export const tokenKeySettings = {
  /** `envd.key`: base64 of 32 random bytes. */
  ENVD_TOKEN_KEY: secret(),
  /** Number of that key: `envd.key.number`. */
  ENVD_TOKEN_KEY_NUMBER: integer({ min: 1, max: 999_999_999 }).default(1),
  /** `envd.key.other`, while the key is rotated: the next key, and after the switch the one of before, as `NUMBER:BASE64`. */
  ENVD_TOKEN_KEY_OTHER: secret().optional(),
};

interface Settings {
  readonly ENVD_TOKEN_KEY: Secret;
  readonly ENVD_TOKEN_KEY_NUMBER: number;
  readonly ENVD_TOKEN_KEY_OTHER?: Secret | undefined;
}

/** Throws when a key is malformed, too short to be safe, or has the number of the other one. */
export function readTokenKeys({ ENVD_TOKEN_KEY, ENVD_TOKEN_KEY_NUMBER, ENVD_TOKEN_KEY_OTHER }: Settings): TokenKeys {
  const other = ENVD_TOKEN_KEY_OTHER?.reveal();
  return new TokenKeys({ key: ENVD_TOKEN_KEY.reveal(), number: ENVD_TOKEN_KEY_NUMBER, other });
}
