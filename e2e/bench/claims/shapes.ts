/** How claims arrive. */
export type Shape =
  | { readonly kind: 'burst'; readonly claims: number }
  | { readonly kind: 'serial'; readonly claims: number }
  /** At an even rate, independent of how fast they are served. */
  | { readonly kind: 'rate'; readonly perSecond: number; readonly claims: number }
  /** As fast as they are served: each worker sends its next claim when its last one is gone. */
  | { readonly kind: 'closed'; readonly workers: number; readonly claims: number }
  /** At random moments around that rate, independent of each other, as clients that know nothing of each other. */
  | { readonly kind: 'poisson'; readonly perSecond: number; readonly claims: number };

/** The pause between serial claims, so that each meets an idle server. */
const SERIAL_PAUSE_MS = 200;

const IN_FLIGHT = 64;

/** Calls `send` with each name in the given shape, and waits for all calls. */
export async function drive(shape: Shape, prefix: string, send: (name: string) => Promise<void>): Promise<void> {
  const names = Array.from({ length: shape.claims }, (_, index) => `${prefix}-${index}`);
  switch (shape.kind) {
    case 'burst':
      await Promise.all(names.map(send));
      return;
    case 'serial':
      for (const name of names) {
        await send(name);
        await pause(SERIAL_PAUSE_MS);
      }
      return;
    case 'closed': {
      const left = names.values();
      const work = async (): Promise<void> => {
        for (const name of left) await send(name);
      };
      await Promise.all(Array.from({ length: shape.workers }, work));
      return;
    }
    case 'rate':
    case 'poisson': {
      const arrivals = listArrivalsMs(shape);
      const beganMs = performance.now();
      const sent = names.map(async (name, index) => {
        await pause(beganMs + (arrivals[index] ?? 0) - performance.now());
        await send(name);
      });
      await Promise.all(sent);
    }
  }
}

/** When each claim arrives, in milliseconds from the start. */
export function listArrivalsMs({ kind, perSecond, claims }: Extract<Shape, { perSecond: number }>): number[] {
  const random = kind === 'poisson' ? createSequence() : undefined;
  let atMs = 0;
  return Array.from({ length: claims }, () => {
    const arrivesMs = atMs;
    atMs += random === undefined ? 1_000 / perSecond : (-Math.log(1 - random()) * 1_000) / perSecond;
    return arrivesMs;
  });
}

/** The same numbers between 0 and 1 in every run, so that runs can be compared (a linear congruential generator). */
function createSequence(): () => number {
  let state = 20_261_124;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}

/** Calls `work` for each index with bounded concurrency. */
export async function runInParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, worker));
}
