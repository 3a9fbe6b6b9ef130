import { describe, expect, it } from 'vitest';
import { readCreate } from './read-create.ts';
import { newSandboxV1, newSandboxV2 } from './schemas.ts';

const CONTROL_PREFIX = 'e2b.agents.kruise.io/';

const read = (fields: object) =>
  readCreate(newSandboxV2.parse({ templateID: 'base', ...fields }), { maxTimeoutSeconds: 3_600 });

describe('readCreate', () => {
  it('defaults the timeout to 300 s in version 2 and 15 s in version 1', () => {
    expect(newSandboxV2.parse({ templateID: 'base' }).timeout).toBe(300);
    expect(newSandboxV1.parse({ templateID: 'base', secure: true }).timeout).toBe(15);
  });

  it.each([
    ['a timeout of 0', { timeout: 0 }, 'timeout: expected more than 0'],
    ['a timeout above the maximum', { timeout: 3_601 }, 'timeout: expected at most 3600'],
    ['autoPauseMemory without autoPause', { autoPauseMemory: false }, 'autoPauseMemory: false needs autoPause'],
    ['autoResume without autoPause', { autoResume: { enabled: true } }, 'autoResume needs autoPause'],
    [
      'a filesystem-only pause with autoResume',
      { autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } },
      'autoPauseMemory: false excludes autoResume',
    ],
    ['iam', { iam: { tokens: {} } }, 'iam is not available'],
    ['mcp that is a list', { mcp: ['time'] }, 'expected record'],
    ['an MCP server without settings', { mcp: { time: true } }, 'expected object'],
    [
      'too many MCP servers',
      { mcp: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`s${index}`, {}])) },
      'expected at most 64 servers',
    ],
    [
      'names without everything else denied',
      { network: { allowOut: ['*.example.com'], denyOut: ['10.0.0.0/8'] } },
      'network.allowOut: names need network.denyOut to contain 0.0.0.0/0',
    ],
    [
      'a URL in place of a name',
      { network: { allowOut: ['https://example.com'], denyOut: ['0.0.0.0/0'] } },
      'network.allowOut: "https://example.com" is neither an address, a CIDR nor a name',
    ],
    [
      'a name that is never let through',
      { network: { allowOut: ['example.com', '*.google.internal:443'], denyOut: ['0.0.0.0/0'] } },
      'network.allowOut: "*.google.internal:443" is refused: names that end in internal are never let through',
    ],
    ['a denied name', { network: { denyOut: ['example.com'] } }, 'names can only be allowed'],
    ['a malformed CIDR', { network: { denyOut: ['10.0.0.0/33'] } }, 'network.denyOut: "10.0.0.0/33" is neither'],
    [
      'too many egress rules',
      { network: { denyOut: Array.from({ length: 101 }, (_, index) => `10.0.0.${index}`) } },
      'network.denyOut: expected at most 100',
    ],
    ['an egress proxy', { network: { egressProxy: { address: 'a:1' } } }, 'network.egressProxy is not available'],
    ['an environment variable without a name', { envVars: { '': 'x' } }, 'cannot name a variable'],
    ['an environment variable with a zero byte', { envVars: { A: '\0' } }, 'has a zero byte'],
    ['a reserved label', { metadata: { 'label:sandlot.dev/sandbox-id': 'x' } }, 'cannot be a label'],
    ['an invalid label value', { metadata: { 'label:team': 'a b' } }, 'cannot be the value of a label'],
    ['too much metadata', { metadata: { a: 'x'.repeat(70_000) } }, 'metadata: expected at most 65536 bytes'],
    [
      'an unknown control key of OpenKruise',
      { metadata: { [`${CONTROL_PREFIX}csi-driver`]: 'x' } },
      'is not supported by this installation',
    ],
    [
      'a wait above the maximum',
      { metadata: { [`${CONTROL_PREFIX}claim-timeout-seconds`]: '100000' } },
      'expected whole seconds from 1 to 600',
    ],
    ...['', '0', '0m', '0.0', '-1', 'much', '1 ', '1\n', '1GiB', '1e', 'Infinity', '0x10', '١', '1'.repeat(33)].flatMap(
      (value) =>
        ['cpu-request', 'cpu-limit'].map((name): [string, object, string] => [
          `${name}=${JSON.stringify(value.slice(0, 9))}`,
          { metadata: { [CONTROL_PREFIX + name]: value } },
          `${CONTROL_PREFIX}${name}: expected CPUs such as 2, 0.5 or 500m`,
        ]),
    ),
    [
      'a CPU request above the CPU limit',
      { metadata: { [`${CONTROL_PREFIX}cpu-request`]: '2', [`${CONTROL_PREFIX}cpu-limit`]: '1999m' } },
      'cpu-request "2" is above cpu-limit "1999m"',
    ],
    ...['memory-request', 'memory-limit', 'cpu', 'gpu-limit'].map((name): [string, object, string] => [
      `the key ${name}`,
      { metadata: { [CONTROL_PREFIX + name]: '1' } },
      `metadata key "${CONTROL_PREFIX}${name}" is not supported by this installation`,
    ]),
    ...['0', '500h900', '-1s', '1.5', '8761h', '99999999999999h', `${'9'.repeat(400)}h`, ' 5m', 'constructor', ''].map(
      (value): [string, object, string] => [
        `a failed sandbox kept for "${value.slice(0, 20)}"`,
        { metadata: { [`${CONTROL_PREFIX}reserve-failed-sandbox-for`]: value } },
        'reserve-failed-sandbox-for: expected forever, never or a duration from 1s',
      ],
    ),
    ...['', 'A', '1a', '-a', 'a-', 'a.b', 'a_b', 'a b', 'a/b', '../a', 'ä', 'a\n', 'a\0', 'a'.repeat(64)].map(
      (value): [string, object, string] => [
        `the name ${JSON.stringify(value.slice(0, 9))}`,
        { metadata: { [`${CONTROL_PREFIX}sandbox-name`]: value } },
        'sandbox-name: expected a lower-case letter',
      ],
    ),
    ...['', 'A', '1a', '-a', 'a.', 'a\n', 'a'.repeat(56)].map((value): [string, object, string] => [
      `the beginning of a name ${JSON.stringify(value.slice(0, 9))}`,
      { metadata: { [`${CONTROL_PREFIX}sandbox-generate-name`]: value } },
      'sandbox-generate-name: expected a lower-case letter',
    ]),
    ...(
      [
        ['sandbox-generate-name', 'a', 'exclude each other'],
        ['create-on-no-stock', 'false', 'create-on-no-stock=false excludes it'],
        ['reserve-failed-sandbox-for', '10m', 'reserve-failed-sandbox excludes a chosen name'],
      ] as const
    ).map(([name, value, problem]): [string, object, string] => [
      `a name beside ${name}`,
      { metadata: { [`${CONTROL_PREFIX}sandbox-name`]: 'a', [CONTROL_PREFIX + name]: value } },
      problem,
    ]),
    [
      'keys that contradict each other about a failed sandbox',
      {
        metadata: {
          [`${CONTROL_PREFIX}reserve-failed-sandbox`]: 'false',
          [`${CONTROL_PREFIX}reserve-failed-sandbox-for`]: '10m',
        },
      },
      'contradict each other',
    ],
    ...(
      [
        ['create-on-no-stock', 'false', 'create-on-no-stock=false excludes csi-volume-config'],
        ['skip-init-runtime', 'true', 'skip-init-runtime=true excludes csi-volume-config'],
      ] as const
    ).map(([name, value, problem]): [string, object, string] => [
      `volumes beside ${name}`,
      {
        metadata: {
          [`${CONTROL_PREFIX}csi-volume-config`]: '[{"pvName":"dataset","mountPath":"/data"}]',
          [CONTROL_PREFIX + name]: value,
        },
      },
      problem,
    ]),
    ...(['create-on-no-stock=false', 'skip-init-runtime=true'] as const).map((text): [string, object, string] => {
      const [name = '', value = ''] = text.split('=');
      const metadata = { [CONTROL_PREFIX + name]: value };
      return [
        `volumeMounts beside ${name}`,
        { volumeMounts: [{ name: 'a', path: '/a' }], metadata },
        `${text} excludes volumeMounts`,
      ];
    }),
    [
      'environment variables without a runtime',
      { envVars: { A: '1' }, metadata: { [`${CONTROL_PREFIX}skip-init-runtime`]: 'true' } },
      'need the runtime',
    ],
  ])('rejects %s', (...[, fields, problem]) => {
    expect(() => read(fields)).toThrow(problem);
  });

  it.each([
    ['unknown fields', { nonsense: 1 }],
    [
      'null for optional fields',
      { metadata: null, envVars: null, network: null, autoPause: null, mcp: null, iam: null },
    ],
    [
      'servers of MCP, whose settings the gateway checks',
      { mcp: { 'github/acme/x': { runCmd: 'x', envs: { A: '1' } } } },
    ],
    ['empty network rules', { network: { allowOut: [], denyOut: [], rules: {}, egressProxy: null } }],
    ['internet access, which the template may still deny', { allow_internet_access: true }],
  ])('accepts %s', (_name, fields) => {
    expect(read(fields)).toMatchObject({ timeoutSeconds: 300, allowPublicTraffic: true });
  });

  it('reads names and addresses of one list, normalised and once', () => {
    const allowOut = ['Example.COM.', '1.1.1.1', '*.example.org:8443', 'example.com', '1.1.1.1/32'];
    expect(read({ network: { allowOut, denyOut: ['0.0.0.0/0'] } }).egress).toEqual({
      allowOut: ['1.1.1.1/32'],
      names: ['example.com', '*.example.org:8443'],
      denyOut: ['0.0.0.0/0'],
    });
    expect(read({ allow_internet_access: false, network: { allowOut: ['*'] } }).egress).toMatchObject({ names: ['*'] });
  });
});
