import { Readable } from 'node:stream';
import { sandbox } from '@sandlot/api-types/testing';
import { KubeError } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { PodLog } from './pod-logs.ts';
import type { PodLogsDeps } from './pod-logs.ts';

/** Reads where the API server answers with this error. */
async function readFailing(code: ConstructorParameters<typeof KubeError>[0]['code']): Promise<unknown> {
  const failing = function* (): Generator<Buffer> {
    yield Buffer.alloc(0);
    throw new KubeError({ verb: 'get', resource: 'pods/log', key: 'a/b', code, message: 'no' });
  };
  const client: PodLogsDeps['client'] = {
    readLog: () => Readable.from(failing()),
  };
  const log = new PodLog({ client }, sandbox({ namespace: 'a', name: 'b' }), new AbortController().signal);
  const lines: object[] = [];
  try {
    for await (const line of log.readFrom(0).lines) lines.push(line);
    return lines;
  } catch (error) {
    return error;
  }
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
