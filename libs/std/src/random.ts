/** A number in [0, 1). Injected, so that jitter and choices can be replayed in tests. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();
