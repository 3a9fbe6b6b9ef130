import { readSession } from '@sandlot/bus/testing';
import { expect, it } from 'vitest';
import { render } from './chart.ts';
import { declareStreams, formatPassword, startNatsServer } from './nats-server.ts';

const MEBIBYTE = 1024 ** 2;
/** The most that events may take of the default volume: 1638 MiB less 16 MiB of dead letters and 7 records of 64 MiB. */
const LARGEST = (1638 - 16 - 7 * 64) * MEBIBYTE;

const renderEvents = (maxBytes: number, nats: object = {}) => render({ nats: { ...nats, streams: { maxBytes } } });

it('refuses streams that do not fit into the volume, and says which values to change', async () => {
  await expect(renderEvents(LARGEST + 1)).rejects.toThrow(
    /nats\.streams: maxBytes, 7 records of recordMaxBytes and 16 MiB of dead letters are 1639 MiB.*persistence\.size 2Gi has 1638 MiB/,
  );
  await renderEvents(LARGEST);
  await renderEvents(LARGEST + 1, { persistence: { size: '3Gi' } });
});

it('lets a cluster with fewer copies than servers spread its streams', async () => {
  await renderEvents(LARGEST + 1, { replicas: 3, streamReplicas: 1 });
  await expect(renderEvents(LARGEST + 1, { replicas: 3, streamReplicas: 3 })).rejects.toThrow('1639 MiB');
});

it('gives a real server room for the largest streams that it accepts, and for no more', async () => {
  const server = await startNatsServer();
  try {
    await declareStreams(server, { maxBytes: LARGEST });
    await using session = await readSession(server.url, { user: 'streams', pass: formatPassword('streams') });
    const { config } = await session.manager.streams.info('SANDLOT_EVENTS');
    expect(config.max_bytes).toBe(LARGEST);
    const more = { ...config, max_bytes: LARGEST + 2 * MEBIBYTE };
    await expect(session.manager.streams.update('SANDLOT_EVENTS', more)).rejects.toThrow('insufficient storage');
  } finally {
    await server.stop();
  }
});
