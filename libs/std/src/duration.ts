const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const WHOLE = /^(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+$/;
const PART = /([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g;

/** Milliseconds of a Go duration such as `1h30m`, `1.5s` or `500ms`; undefined when the text is not one. */
export function parseDurationMs(text: string): number | undefined {
  if (!WHOLE.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount = '0', unit = 'ms'] of text.matchAll(PART)) totalMs += Number(amount) * (UNIT_MS[unit] ?? 0);
  return totalMs;
}
