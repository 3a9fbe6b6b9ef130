import { describe, expect, it } from 'vitest';
import { readArguments, readToken } from './arguments.ts';
import { catalogue } from './catalogue.ts';
import { MOST_CONFIG_BYTES, readConfig } from './config.ts';

describe('the configuration', () => {
  it('names servers and their settings', () => {
    const wanted = readConfig('{"filesystem":{"paths":["/srv"]},"time":{}}', catalogue);
    expect(wanted.map(({ name, settings }) => [name, settings])).toEqual([
      ['filesystem', { paths: ['/srv'] }],
      ['time', {}],
    ]);
  });

  it.each([
    ['{"postgres":{"url":"x"}}', "server 'postgres' is not available in this installation"],
    ['{"time":{},"postgres":{}}', "server 'postgres' is not available in this installation"],
    [
      '{"github/acme/mcp":{"runCmd":"npx mcp"}}',
      "server 'github/acme/mcp' is not available in this installation: it runs no code from repositories",
    ],
    ['{"__proto__":{}}', "server '__proto__' is not available in this installation"],
    ['{"constructor":{}}', "server 'constructor' is not available in this installation"],
    ['{"a\\u001b[31m\\nb":{}}', "server 'a?[31m?b' is not available in this installation"],
    ['{"time":{"localTimezone":"UTC"}}', "server 'time': 'time.localTimezone': there is no such setting"],
    ['{"filesystem":{"paths":[]}}', "server 'filesystem': 'filesystem.paths': Too small"],
    ['{"filesystem":{"paths":["srv"]}}', "server 'filesystem': 'filesystem.paths.0': expected an absolute path"],
    ['{"filesystem":{"paths":["--x"]}}', "server 'filesystem': 'filesystem.paths.0': expected an absolute path"],
    ['{"filesystem":{"paths":["/a\\u0000b"]}}', "server 'filesystem': 'filesystem.paths.0': expected an absolute path"],
    [
      `{"filesystem":{"paths":${JSON.stringify(Array.from({ length: 33 }, () => '/srv'))}}}`,
      "server 'filesystem': 'filesystem.paths': Too big",
    ],
    ['{"git":{}}', "server 'git': 'git.paths': Invalid input"],
    ['{"time":null}', "server 'time': 'time': Invalid input"],
    ['{}', 'the configuration names no server'],
    ['[]', 'the configuration is not an object of servers'],
    ['null', 'the configuration is not an object of servers'],
    ['{"time"', 'the configuration is not JSON'],
    [`{"time":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, "server 'time': 'time': Invalid input"],
    [' '.repeat(MOST_CONFIG_BYTES + 1), `the configuration has more than ${MOST_CONFIG_BYTES} bytes`],
  ])('refuses %.60s', (text, message) => {
    expect(() => readConfig(text, catalogue)).toThrow(message);
  });

  it('repeats no more than the beginning of a long name', () => {
    expect(() => readConfig(`{"${'x'.repeat(5000)}":{}}`, catalogue)).toThrow(/^server 'x{80}…' is not available/);
  });
});

describe('the arguments', () => {
  it.each([
    [['--config', '{}'], { command: 'start', config: '{}' }],
    [['pull', 'time', 'git'], { command: 'pull', servers: ['time', 'git'] }],
    [['restore'], { command: 'restore' }],
    [['serve'], { command: 'serve' }],
  ])('reads %j', (argv, parsed) => {
    expect(readArguments(argv)).toEqual(parsed);
  });

  it.each([[[]], [['--config']], [['--config', '{}', 'more']], [['pull']], [['serve', 'more']], [['--port', '1']]])(
    'refuses %j',
    (argv) => {
      expect(() => readArguments(argv)).toThrow(/usage: mcp-gateway/);
    },
  );

  it.each([undefined, '', 'short', `${'x'.repeat(20)} y`, `${'x'.repeat(20)}\n`, 'x'.repeat(513)])(
    'refuses the token %j',
    (token) => {
      expect(() => readToken(token)).toThrow('GATEWAY_ACCESS_TOKEN has to have 16 to 512 printable characters');
    },
  );
});
