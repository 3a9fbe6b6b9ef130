import { inject } from 'vitest';
import { z } from 'zod';
import { runKubectlOrFail } from '../kubectl.ts';

const listSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), namespace: z.string(), labels: z.record(z.string(), z.string()) }),
      type: z.string(),
      data: z.record(z.string(), z.string()),
    }),
  ),
});

/**
 * The Secrets with the credentials of the release, as a manifest without what belongs to the objects of now: an object with
 * another UID could not be overwritten by it.
 */
export async function readCredentials(): Promise<string> {
  const inRelease = ['--namespace', inject('releaseNamespace')];
  const selector = ['--selector', 'app.kubernetes.io/part-of=sandlot'];
  const { items } = listSchema.parse(
    JSON.parse(await runKubectlOrFail([...inRelease, 'get', 'secrets', ...selector, '--output', 'json'])),
  );
  const secrets = items.map((item) => ({ apiVersion: 'v1', kind: 'Secret', ...item }));
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: secrets });
}
