const UNITS = ['', 'Ki', 'Mi', 'Gi'];
/** Below it a whole number of a unit is short enough, and exact enough. */
const MOST = 10_000;

/** `bytes` as a Kubernetes quantity of few digits, rounded up. */
export function formatSize(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= MOST && unit < UNITS.length - 1) {
    amount = Math.ceil(amount / 1024);
    unit += 1;
  }
  return `${amount}${UNITS[unit] ?? ''}`;
}
