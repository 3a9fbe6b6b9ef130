import { annotations } from '@sandlot/api-types';
import type { ObjectKey } from '@sandlot/kube';
import {
  derivePreviewKey,
  deriveTrafficAccessToken,
  formatKeyNumber,
  formatPreviewKey,
  hashApiKey,
} from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';

/** What a new claim records of its tokens: by which key they are made, and if its ports are not public, the hash of their token and the key of their previews. */
export function buildTokenAnnotations(
  { current }: TokenKeys,
  { namespace = '', name }: ObjectKey,
  { isPublic }: { readonly isPublic: boolean },
): Record<string, string> {
  const number = formatKeyNumber(current.number);
  const subject = `${namespace}/${name}`;
  const token = deriveTrafficAccessToken(current.bytes, subject);
  const previewKey = formatPreviewKey(derivePreviewKey(current.bytes, subject, 0));
  return {
    ...(number === undefined ? {} : { [annotations.tokenKey]: number }),
    ...(isPublic ? {} : { [annotations.trafficTokenHash]: hashApiKey(token), [annotations.previewKey]: previewKey }),
  };
}
