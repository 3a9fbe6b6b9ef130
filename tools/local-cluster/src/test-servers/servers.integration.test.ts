import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startNats } from './nats.ts';
import { startRedis } from './redis.ts';
import type { Server } from './server.ts';

const natsConnect = (extra: string) =>
  `CONNECT {"verbose":false,"protocol":1,"headers":true,"lang":"test"${extra}}\r\n`;

describe('a NATS server', () => {
  it('keeps a stream and its port after a kill', async () => {
    await using server = await startNats();
    const stream = JSON.stringify({ name: 'KEPT', subjects: ['kept.>'], storage: 'file' });
    expect(await natsRequest(server, 'STREAM.CREATE.KEPT', stream)).toContain('"name":"KEPT"');
    await server.kill();
    await server.restart();
    expect(await natsRequest(server, 'STREAM.INFO.KEPT', '')).toContain('"name":"KEPT"');
  });

  it('loses its streams but keeps its port after a wipe', async () => {
    await using server = await startNats();
    const stream = JSON.stringify({ name: 'KEPT', subjects: ['kept.>'], storage: 'file' });
    expect(await natsRequest(server, 'STREAM.CREATE.KEPT', stream)).toContain('"name":"KEPT"');
    await server.wipe();
    await server.restart();
    expect(await natsRequest(server, 'STREAM.INFO.KEPT', '')).toContain('stream not found');
  });

  it('refuses a client without its password', async () => {
    await using server = await startNats({ user: 'app', password: 'secret' });
    expect(await talk(server, `${natsConnect('')}PING\r\n`, /-ERR/)).toContain('Authorization Violation');
    const credentials = natsConnect(',"user":"app","pass":"secret"');
    expect(await talk(server, `${credentials}PING\r\n`, /PONG|-ERR/)).toContain('PONG');
  });

  it('starts without JetStream if the option is false', async () => {
    await using server = await startNats({ jetstream: false });
    expect(await talk(server, natsConnect(''), /INFO/)).not.toContain('"jetstream":true');
  });
});

describe('a Redis server', () => {
  it('keeps an acknowledged write and its port after a kill', async () => {
    await using server = await startRedis();
    expect(await talk(server, 'SET kept 1\r\n', /OK/)).toContain('+OK');
    await server.restart();
    expect(await talk(server, 'GET kept\r\n', /\$/)).toBe('$1\r\n1\r\n');
  });

  it('refuses a client without its password', async () => {
    await using server = await startRedis({ password: 'secret' });
    expect(server.url).toContain(':secret@');
    expect(await talk(server, 'GET kept\r\n', /./)).toContain('-NOAUTH');
    expect(await talk(server, 'AUTH secret\r\nPING\r\n', /PONG/)).toContain('+PONG');
  });
});

/** Sends text and collects the reply until it matches or the server closes. Otherwise the test times out. */
async function talk(server: Server, text: string, until: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: server.port, host: '127.0.0.1' });
    let answer = '';
    socket.on('connect', () => socket.write(text));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      if (until.test(answer)) socket.destroy();
    });
  });
}

async function natsRequest(server: Server, api: string, body: string): Promise<string> {
  const request = `SUB inbox 1\r\nPUB $JS.API.${api} inbox ${body.length}\r\n${body}\r\n`;
  return talk(server, natsConnect('') + request, /MSG inbox[\s\S]*\}\r\n/);
}
