/** A whole number as it is, or a percentage such as `25%` of `whole`, rounded as told (API contract, warm pools). */
export function amountOf(value: number | string, whole: number, rounding: 'down' | 'up'): number {
  if (typeof value === 'number') return value;
  const share = (whole * Number.parseInt(value, 10)) / 100;
  return rounding === 'down' ? Math.floor(share) : Math.ceil(share);
}
