/** The syntax of a quantity that is not negative, for schemas; the API server's parser is stricter about magnitude only. */
export const QUANTITY = /^[+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;

const SHAPE = /^([+-])?(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/** Largest decimal exponent that the API server's parser accepts; more would only cost memory here. */
const MAX_EXPONENT = 100;

/**
 * One text per value of a Kubernetes quantity: `1Gi`, `1024Mi` and 1073741824 give the same. Undefined when the input is
 * not a quantity.
 */
export function canonicaliseQuantity(quantity: string | number): string | undefined {
  const match = SHAPE.exec(String(quantity));
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  const exponent = getDecimalExponent(suffix);
  if (Math.abs(exponent) > MAX_EXPONENT) return undefined;
  const digits = BigInt(whole + fraction) * 1024n ** BigInt(BINARY.indexOf(suffix) + 1);
  return normalise(sign === '-' ? -digits : digits, exponent - fraction.length);
}

/** Whether two quantities are the same amount. Texts that are no quantities compare as text. */
export function isSameQuantity(a: string | number, b: string | number): boolean {
  return (canonicaliseQuantity(a) ?? String(a)) === (canonicaliseQuantity(b) ?? String(b));
}

/** A quantity in its base unit: cores, bytes. Undefined for a text that is none; rounded beyond 2^53. */
export function parseQuantity(quantity: string | number): number | undefined {
  const canonical = canonicaliseQuantity(quantity);
  return canonical === undefined ? undefined : Number(canonical);
}

/** CPU in thousandths, rounded up as kubelets do; 0 for a text that is no quantity. */
export function parseMilliCpu(quantity: string | number): number {
  // The quotient of a decimal fraction may lie just above a whole number.
  return Math.ceil(Number(((parseQuantity(quantity) ?? 0) * 1_000).toPrecision(15)));
}

function getDecimalExponent(suffix: string): number {
  if (/^[eE][+-]?[0-9]/.test(suffix)) return Number(suffix.slice(1));
  return DECIMAL[suffix] ?? 0;
}

/** `digits × 10^exponent` with no trailing zero left in the digits. */
function normalise(digits: bigint, exponent: number): string {
  if (digits === 0n) return '0';
  let rest = digits;
  let shift = exponent;
  while (rest % 10n === 0n) {
    rest /= 10n;
    shift += 1;
  }
  return `${rest}e${shift}`;
}
