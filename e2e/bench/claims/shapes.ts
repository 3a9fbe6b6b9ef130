/** How claims arrive. */
export type Shape =
  | { readonly kind: 'burst'; readonly claims: number }
  | { readonly kind: 'serial'; readonly claims: number }
  /** At an even rate, independent of how fast they are served. */
  | { readonly kind: 'rate'; readonly perSecond: number; readonly claims: number };

/** The pause between serial claims, so that each meets an idle server. */
const SERIAL_PAUSE_MS = 200;

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
    case 'rate': {
      const beganMs = performance.now();
      const sent = names.map(async (name, index) => {
        await pause(beganMs + (index * 1_000) / shape.perSecond - performance.now());
        await send(name);
      });
      await Promise.all(sent);
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
