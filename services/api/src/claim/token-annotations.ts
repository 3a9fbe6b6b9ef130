import { annotations } from '@sandlot/api-types';
import type { ObjectKey } from '@sandlot/kube';
import { deriveTrafficAccessToken, formatKeyNumber, hashApiKey } from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';

/** What a new claim records of its tokens: by which key they are made, and if its ports are not public, the hash of their token. */
export function buildTokenAnnotations(
  { current }: TokenKeys,
  { namespace = '', name }: ObjectKey,
  { isPublic }: { readonly isPublic: boolean },
): Record<string, string> {
  const number = formatKeyNumber(current.number);
  const token = deriveTrafficAccessToken(current.bytes, `${namespace}/${name}`);
  return {
    ...(number === undefined ? {} : { [annotations.tokenKey]: number }),
    ...(isPublic ? {} : { [annotations.trafficTokenHash]: hashApiKey(token) }),
  };
}
