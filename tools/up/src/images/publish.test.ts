import { describe, expect, it } from 'vitest';
import { parseSize } from './buildah.ts';
import { formatImage, isLoopback, parseRegistry } from './publish.ts';
import { readStandIns } from './stand-ins.ts';

describe('a registry', () => {
  it.each([
    [
      '127.0.0.1:5000/team/sandlot',
      { host: '127.0.0.1:5000', path: 'team/sandlot' },
      '127.0.0.1:5000/team/sandlot/nats:1',
    ],
    ['ghcr.io/acme/', { host: 'ghcr.io', path: 'acme' }, 'ghcr.io/acme/nats:1'],
    ['registry.example.com', { host: 'registry.example.com', path: '' }, 'registry.example.com/nats:1'],
  ])('%s is split into host and path', (text, registry, name) => {
    expect(parseRegistry(text)).toEqual(registry);
    expect(formatImage(registry, { name: 'nats', tag: '1' })).toBe(name);
  });

  it.each([
    ['127.0.0.1:5000', true],
    ['localhost', true],
    ['[::1]:5000', true],
    ['10.0.0.1:5000', false],
    ['localhost.example.com', false],
  ])('%s speaks plain HTTP: %s', (host, plain) => {
    expect(isLoopback(host)).toBe(plain);
  });
});

describe('the stand-ins', () => {
  it('include the images that examples use, each name once', async () => {
    const standIns = await readStandIns();
    const names = standIns.map(({ repository, tag }) => `${repository}:${tag}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining(['library/busybox:latest', 'library/ubuntu:24.04', 'library/debian:12']),
    );
    expect(standIns.filter(({ image }) => !['busybox', 'debian'].includes(image))).toEqual([]);
  });
});

describe('parseSize', () => {
  it.each([
    ['158 MB', 158e6],
    ['2.14 MB', 2.14e6],
    ['512 kB', 512e3],
    ['1.2 GB', 1.2e9],
  ])('reads %s', (size, bytes) => {
    expect(parseSize(JSON.stringify([{ id: 'x', size, createdatraw: '' }]))).toBeCloseTo(bytes);
  });
});
