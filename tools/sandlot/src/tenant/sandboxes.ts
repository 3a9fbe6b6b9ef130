import { Sandbox } from 'e2b';
import type { SandboxInfo } from 'e2b';
import { CliError } from '../errors.ts';
import { buildConnection, explain } from './client.ts';
import { buildUsageError, getPairs, getText } from './command.ts';
import type { Call, TenantCommand } from './command.ts';
import { clean, formatSpan, print } from './print.ts';

const output = { type: 'string', short: 'o' } as const;

/** One or more sandboxes at a time; the first failure does not keep the others. */
async function forEach(call: Call, act: (id: string) => Promise<string>): Promise<number> {
  let code = 0;
  for (const id of call.names) {
    try {
      call.err.write(`${id}: ${await explain(() => act(id), id)}\n`);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      call.err.write(`sandlot: ${error.message}\n${error.advice}\n`);
      code = 1;
    }
  }
  return code;
}

export const create: TenantCommand = {
  name: 'create',
  usage: '[TEMPLATE] [--timeout SECONDS] [--env NAME=VALUE] [--metadata NAME=VALUE] [-o json|yaml|name]',
  what: 'creates a sandbox',
  options: {
    timeout: { type: 'string' },
    env: { type: 'string', short: 'e', multiple: true },
    metadata: { type: 'string', short: 'm', multiple: true },
    output,
  },
  names: [0, 1],
  run: async (call) => {
    const [template = 'base'] = call.names;
    const options = {
      ...buildConnection(call.account),
      envs: getPairs(call, 'env', create),
      metadata: getPairs(call, 'metadata', create),
      ...getTimeout(call, create),
      signal: call.signal,
    };
    const { sandboxId } = await explain(async () => Sandbox.create(template, options));
    print(call, {
      head: ['ID'],
      rows: [[sandboxId]],
      data: { id: sandboxId, template },
      names: [sandboxId],
      empty: '',
    });
    return 0;
  },
};

function getTimeout(call: Call, command: TenantCommand): { readonly timeoutMs?: number } {
  const text = getText(call, 'timeout');
  if (text === undefined) return {};
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1)
    throw buildUsageError(command, `--timeout takes whole seconds, not "${text}"`);
  return { timeoutMs: seconds * 1_000 };
}

export const list: TenantCommand = {
  name: 'list',
  usage: '[--state running|paused] [--metadata NAME=VALUE] [-o json|yaml|name]',
  what: 'lists your sandboxes',
  options: { state: { type: 'string' }, metadata: { type: 'string', short: 'm', multiple: true }, output },
  names: [0, 0],
  run: async (call) => {
    const found = await listAll(call);
    const nowMs = Date.now();
    print(call, {
      head: ['ID', 'TEMPLATE', 'STATE', 'AGE', 'ENDS IN', 'CPU', 'MEMORY', 'METADATA'],
      rows: found.map((each) => [
        each.sandboxId,
        each.name ?? each.templateId,
        each.state,
        formatSpan(nowMs - each.startedAt.getTime()),
        formatSpan(each.endAt.getTime() - nowMs),
        String(each.cpuCount),
        `${each.memoryMB} MiB`,
        Object.entries(each.metadata)
          .map(([key, value]) => `${key}=${value}`)
          .join(' '),
      ]),
      data: found.map(({ sandboxId: id, ...rest }) => ({ id, ...rest })),
      names: found.map(({ sandboxId }) => sandboxId),
      empty: 'You have no sandboxes. sandlot create makes one.',
    });
    return 0;
  },
};

async function listAll(call: Call): Promise<readonly SandboxInfo[]> {
  const state = getText(call, 'state');
  if (state !== undefined && state !== 'running' && state !== 'paused')
    throw buildUsageError(list, `--state takes running or paused, not "${state}"`);
  const query = {
    ...(state === undefined ? {} : { state: [state] as ['running' | 'paused'] }),
    metadata: getPairs(call, 'metadata', list),
  };
  const pages = Sandbox.list({ ...buildConnection(call.account), query });
  const found: SandboxInfo[] = [];
  while (pages.hasNext) found.push(...(await explain(() => pages.nextItems())));
  return found;
}

export const pause: TenantCommand = {
  name: 'pause',
  usage: 'ID…',
  what: 'has sandboxes sleep; they wake with the next request',
  names: [1, 100],
  run: (call) =>
    forEach(call, async (id) =>
      (await Sandbox.pause(id, buildConnection(call.account))) ? 'paused' : 'was paused already',
    ),
};

export const resume: TenantCommand = {
  name: 'resume',
  usage: 'ID… [--timeout SECONDS]',
  what: 'wakes sandboxes',
  options: { timeout: { type: 'string' } },
  names: [1, 100],
  run: (call) =>
    forEach(call, async (id) => {
      await Sandbox.connect(id, { ...buildConnection(call.account), ...getTimeout(call, resume) });
      return 'runs';
    }),
};

export const kill: TenantCommand = {
  name: 'kill',
  usage: 'ID…',
  what: 'ends sandboxes, with their disks',
  names: [1, 100],
  run: (call) =>
    forEach(call, async (id) => {
      if (await Sandbox.kill(id, buildConnection(call.account))) return 'killed';
      throw new CliError(`there is no sandbox ${id}`, 'sandlot list shows yours.');
    }),
};

export const fork: TenantCommand = {
  name: 'fork',
  usage: 'ID [--count N] [-o json|yaml|name]',
  what: 'makes copies of a sandbox that go on from its state',
  options: { count: { type: 'string' }, output },
  names: [1, 1],
  run: async (call) => {
    const [id = ''] = call.names;
    const count = Number(getText(call, 'count') ?? '1');
    if (!Number.isInteger(count) || count < 1) throw buildUsageError(fork, '--count takes a number above 0');
    const forks = await explain(() => Sandbox.fork(id, { ...buildConnection(call.account), count }), id);
    const made = forks.filter((each) => each instanceof Sandbox).map(({ sandboxId }) => sandboxId);
    for (const each of forks)
      if (!(each instanceof Sandbox)) call.err.write(`sandlot: a fork failed: ${clean(each.message)}\n`);
    print(call, {
      head: ['ID'],
      rows: made.map((each) => [each]),
      data: made,
      names: made,
      empty: 'No fork was made.',
    });
    return made.length === count ? 0 : 1;
  },
};

export const snapshot: TenantCommand = {
  name: 'snapshot',
  usage: 'ID [--name NAME] [-o json|yaml|name]',
  what: 'keeps the state of a sandbox, from which sandlot create starts others',
  options: { name: { type: 'string' }, output },
  names: [1, 1],
  run: async (call) => {
    const [id = ''] = call.names;
    const name = getText(call, 'name');
    const options = { ...buildConnection(call.account), ...(name === undefined ? {} : { name }) };
    const made = await explain(() => Sandbox.createSnapshot(id, options), id);
    const { snapshotId } = made;
    print(call, { head: ['SNAPSHOT'], rows: [[snapshotId]], data: made, names: [snapshotId], empty: '' });
    return 0;
  },
};
