import { KubeError } from '@sandlot/kube';
import { sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { PodLogs } from './pod-logs.ts';
import type { LogRead, PodLogsDeps } from './pod-logs.ts';

/** Reads where the API server answers with this error. */
async function readFailing(code: ConstructorParameters<typeof KubeError>[0]['code']): Promise<unknown> {
  const client: PodLogsDeps['client'] = {
    async *readLog() {
      yield Buffer.from('2026-01-01T00:00:00Z one\n');
      throw new KubeError({ verb: 'get', resource: 'pods/log', key: 'a/b', code, message: 'no' });
    },
  };
  const claimed = {
    claim: { metadata: { namespace: 'a' }, spec: {} },
    sandbox: sandbox({ namespace: 'a', name: 'b' }),
  };
  const { signal } = new AbortController();
  const wanted: LogRead = { from: 0, direction: 'forward', limit: 1, isWanted: () => true, signal };
  return new PodLogs({ client }).read(claimed, wanted).catch((error: unknown) => error);
}

describe('a log that the API server does not give', () => {
  it('because the API may not read logs there is not enabled', async () => {
    expect(await readFailing('Forbidden')).toMatchObject({
      status: 403,
      errorCode: 'not_enabled',
      message: 'logs are not enabled in this installation',
    });
  });

  it.each(['NotFound', 'BadRequest'] as const)(
    'because there is no Pod or no container yet is empty: %s',
    async (code) => {
      expect(await readFailing(code)).toEqual([]);
    },
  );

  it('because the node does not answer is an error', async () => {
    expect(await readFailing('ServerError')).toMatchObject({ code: 'ServerError' });
  });
});
