import type { ObjectMeta } from '@sandlot/kube/objects';
import type { SandboxTemplateBuild } from '../objects.ts';

/**
 * In `registrySecretName` of a build: the API has stored credentials for it in a namespace that tenants cannot read. A Secret of the
 * namespace can have this name too, and is then not used.
 */
export const STORED_CREDENTIALS = 'credentials.sandlot.dev';

const PREFIX = 'build-';
const UID_LENGTH = 36;
const DIGEST_DIGITS = 10;

/**
 * Name of the Secret with these credentials. The UID is in it, so that a build never reaches those of another one, and the digest of the
 * start, so that it reaches none that an earlier start left behind which never came into effect.
 */
export function formatStoredCredentialsName({ uid = '' }: Pick<ObjectMeta, 'uid'>, digest: string): string {
  return `${PREFIX}${uid}-${digest.slice(0, DIGEST_DIGITS)}`;
}

/** UID of the build whose credentials a Secret of this name has. */
export function findStoredCredentialsUid(secretName: string | undefined): string | undefined {
  if (secretName?.startsWith(PREFIX) !== true) return undefined;
  return secretName.length > PREFIX.length + UID_LENGTH
    ? secretName.slice(PREFIX.length, PREFIX.length + UID_LENGTH)
    : undefined;
}

/** Whether the API stored credentials for the build. */
export function hasStoredCredentials({ spec }: Pick<SandboxTemplateBuild, 'spec'>): boolean {
  return spec.registrySecretName === STORED_CREDENTIALS;
}
