import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TokenKeys } from './token-keys.ts';

const PURPOSE = 'template-builder';

/**
 * What the API shows the template-builder, which serves it alone. The oldest key makes it, so that both ends agree before and after the
 * switch of a rotation.
 */
export function deriveBuilderToken(keys: Pick<TokenKeys, 'ofRepeats'>): string {
  return computeToken(keys.ofRepeats);
}

/** Whether one of the keys made this value of an `Authorization` header. A process that has not restarted yet may have more keys than the other. */
export function isBuilderAuthorization(keys: Pick<TokenKeys, 'list'>, header: string | undefined): boolean {
  const given = Buffer.from(header ?? '');
  return keys.list().some((key) => {
    const wanted = Buffer.from(`Bearer ${computeToken(key)}`);
    return wanted.length === given.length && timingSafeEqual(wanted, given);
  });
}

function computeToken(key: Uint8Array): string {
  return createHmac('sha256', key).update(PURPOSE).digest('hex');
}
