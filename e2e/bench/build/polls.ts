import type { BuildInfo } from 'e2b';
import type { Access } from '../../src/support/sdk/client.ts';

/** Clients that poll at the same time. */
const CLIENTS = 16;

/** Asks for the status of a build as fast as it is answered, and returns the answers in a second. */
export async function countPolls(
  { apiUrl, apiKey }: Access,
  { templateId, buildId }: Pick<BuildInfo, 'templateId' | 'buildId'>,
  durationMs: number,
): Promise<number> {
  const url = `${apiUrl}/templates/${templateId}/builds/${buildId}/status?logsOffset=0`;
  const endMs = performance.now() + durationMs;
  const poll = async (): Promise<number> => {
    let answers = 0;
    while (performance.now() < endMs) {
      const answer = await fetch(url, { headers: { 'x-api-key': apiKey } });
      await answer.text();
      if (!answer.ok) throw new Error(`a poll was answered with ${answer.status}`);
      answers += 1;
    }
    return answers;
  };
  const counts = await Promise.all(Array.from({ length: CLIENTS }, poll));
  return counts.reduce((sum, count) => sum + count, 0) / (durationMs / 1_000);
}
