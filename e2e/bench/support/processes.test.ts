import { describe, expect, it } from 'vitest';
import { isCommandOf, parseResidentMiB } from './processes.ts';

describe('the command line of a program', () => {
  it.each([
    { program: 'etcd', command: '/cache/kube\0etcd\0--name=sandlot\0' },
    { program: 'nats-server', command: '/cache/nats-server\0--config\0nats.json\0' },
    { program: 'redis-server', command: 'redis-server 127.0.0.1:6379\0\0' },
  ])('shows $program', ({ program, command }) => {
    expect(isCommandOf(program, command)).toBe(true);
  });

  it.each(['/cache/kube\0kube-apiserver\0--etcd-servers=unix://client:1\0', '/cache/kube\0kubectl\0get\0etcd\0', ''])(
    'does not take %j for etcd',
    (command) => {
      expect(isCommandOf('etcd', command)).toBe(false);
    },
  );
});

describe('the resident memory of a process', () => {
  it('is in MiB', () => {
    expect(parseResidentMiB('Name:\tetcd\nVmHWM:\t    9999 kB\nVmRSS:\t    2048 kB\nRssAnon:\t 1024 kB\n')).toBe(2);
  });

  it('is an error once the process has ended', () => {
    expect(() => parseResidentMiB('Name:\tetcd\nState:\tZ (zombie)\n')).toThrow('the process has ended');
  });
});
