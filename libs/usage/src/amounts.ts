import { z } from 'zod';

/** What sandboxes have used, in milliseconds: of running, of requested CPUs, of requested GiB of memory. */
export const amounts = z.object({ runMs: z.number(), cpuMs: z.number(), gibMs: z.number() });
export type Amounts = z.output<typeof amounts>;

export const NOTHING: Amounts = { runMs: 0, cpuMs: 0, gibMs: 0 };

/** What a sandbox requests. */
export interface Requests {
  /** In CPUs. */
  readonly cpu: number;
  readonly memoryBytes: number;
}

const GIBIBYTE = 1_073_741_824;
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

export function addAmounts(a: Amounts, b: Amounts): Amounts {
  return { runMs: a.runMs + b.runMs, cpuMs: a.cpuMs + b.cpuMs, gibMs: a.gibMs + b.gibMs };
}

/** What a sandbox with these requests uses in that time. */
export function multiplyRequests({ cpu, memoryBytes }: Requests, runMs: number): Amounts {
  return { runMs, cpuMs: cpu * runMs, gibMs: (memoryBytes / GIBIBYTE) * runMs };
}

/** The same in the units of answers and metrics. */
export function convertAmounts({ runMs, cpuMs, gibMs }: Amounts): {
  readonly sandboxSeconds: number;
  readonly cpuSeconds: number;
  readonly gibHours: number;
} {
  return {
    sandboxSeconds: round(runMs / SECOND_MS),
    cpuSeconds: round(cpuMs / SECOND_MS),
    gibHours: round(gibMs / HOUR_MS),
  };
}

/** Sums of binary fractions have long tails. */
function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
