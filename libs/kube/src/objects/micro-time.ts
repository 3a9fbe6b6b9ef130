/** RFC 3339 in UTC with six digits of fraction, as Kubernetes' MicroTime fields want it. `nowMs` is wall time. */
export function formatMicroTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace('Z', '000Z');
}
