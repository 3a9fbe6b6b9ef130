/** The part of DER (ITU-T X.690) that a certificate needs. */
const LONG_FORM = 0x80;

/** One value: its tag, its length, and its content. */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), encodeLength(body.length), body]);
}

function encodeLength(length: number): Buffer {
  if (length < LONG_FORM) return Buffer.from([length]);
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([LONG_FORM | bytes.length]), bytes]);
}

export const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content);
export const set = (...content: readonly Uint8Array[]): Buffer => der(0x31, ...content);
export const octets = (content: Uint8Array): Buffer => der(0x04, content);
export const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
export const TRUE = der(0x01, Buffer.from([0xff]));

/** A field of a sequence that is known by its number. */
export const field = (number: number, ...content: readonly Uint8Array[]): Buffer => der(0xa0 | number, ...content);

/** The same for a field whose own tag is left out. */
export const implicit = (number: number, content: Uint8Array): Buffer => der(0x80 | number, content);

/** A positive number, from its bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0;
  return der(0x02, isNegative ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** A string of bits, of which the last `unused` do not count. */
export function bits(content: Uint8Array, unused = 0): Buffer {
  return der(0x03, Buffer.from([unused]), content);
}

/** An object identifier, such as 2.5.29.17. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...others] = text.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...others.flatMap(encodeArc)]));
}

function encodeArc(arc: number): number[] {
  const bytes = [arc & 0x7f];
  for (let rest = arc >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

/** A moment to the second. Certificates write years before 2050 with two digits. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  const isShort = Number(digits.slice(0, 4)) < 2050;
  return isShort ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}
