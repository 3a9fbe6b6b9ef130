/** Milliseconds that the work takes. */
export async function time(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** Asks every few milliseconds until there is an answer, and throws after two minutes. */
export async function waitFor<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + 120_000;
  while (performance.now() < endMs) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what}: not within two minutes`);
}
