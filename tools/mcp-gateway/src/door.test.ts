import { describe, expect, it } from 'vitest';
import { decideRefusal } from './door.ts';
import type { Knock } from './door.ts';

const TOKEN = '7d0f6f3c-1d1c-4a55-9a8e-3f0e2f1b6c11';
const knock: Knock = {
  method: 'POST',
  url: '/mcp',
  host: '50005-id.sandbox.example.com',
  origin: undefined,
  authorization: `Bearer ${TOKEN}`,
  isLocal: false,
};

describe('who may come in', () => {
  it.each<Partial<Knock>>([
    {},
    { authorization: `bearer ${TOKEN}` },
    { url: '/mcp?x=1' },
    { origin: 'https://50005-id.sandbox.example.com' },
    { isLocal: true, host: 'localhost:50005' },
    { isLocal: true, host: '127.0.0.1:50005' },
    { isLocal: true, host: '[::1]:50005' },
  ])('lets %j in', (part) => {
    expect(decideRefusal({ ...knock, ...part }, TOKEN)).toBeUndefined();
  });

  it.each<[number, Partial<Knock>]>([
    [401, { authorization: undefined }],
    [401, { authorization: '' }],
    [401, { authorization: 'Bearer ' }],
    [401, { authorization: TOKEN }],
    [401, { authorization: `Basic ${TOKEN}` }],
    [401, { authorization: `Bearer ${TOKEN}x` }],
    [401, { authorization: `Bearer ${TOKEN.slice(1)}` }],
    [401, { authorization: `Bearer ${TOKEN} ${TOKEN}` }],
    [401, { authorization: undefined, method: 'GET' }],
    [405, { method: 'GET' }],
    [405, { method: 'DELETE' }],
    [404, { url: '/' }],
    [404, { url: '/mcp/' }],
    [404, { url: undefined }],
    [400, { host: undefined }],
    [400, { host: '' }],
    [400, { host: 'a b' }],
    [400, { host: 'user@localhost' }],
    [400, { host: 'localhost/..' }],
    [403, { isLocal: true }],
    [403, { isLocal: true, host: 'rebound.example.com:50005' }],
    [403, { isLocal: true, host: 'localhost.example.com' }],
    [403, { origin: 'https://evil.example.com' }],
    [403, { origin: 'null' }],
    [403, { origin: '' }],
    [403, { origin: 'https://50005-id.sandbox.example.com.evil.example.com' }],
  ])('answers %i to %j', (status, part) => {
    expect(decideRefusal({ ...knock, ...part }, TOKEN)?.status).toBe(status);
  });
});
