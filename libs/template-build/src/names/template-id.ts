import { createHmac } from 'node:crypto';

const LENGTH = 20;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * The id of the template that a team builds under a name: 20 lower-case letters and digits. Two requests for one name get one id, so they
 * meet in one object. Names may have characters that names of objects may not.
 */
export function computeTemplateId(team: string, name: string): string {
  const bytes = createHmac('sha256', 'sandlot template id')
    .update(JSON.stringify([team, name]))
    .digest();
  // A first letter keeps it a DNS label. The remainder of 256 makes the first four characters a little likelier, which is no harm here.
  const [first = 0, ...rest] = bytes.subarray(0, LENGTH);
  return [ALPHABET[first % 26], ...rest.map((byte) => ALPHABET[byte % ALPHABET.length])].join('');
}
