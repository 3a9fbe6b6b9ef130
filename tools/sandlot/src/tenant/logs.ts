import { openApi, unwrap } from './client.ts';
import { buildUsageError, getText } from './command.ts';
import type { Call, TenantCommand } from './command.ts';
import { clean } from './print.ts';
import { formatTable } from '../table.ts';

const POLL_MS = 1_000;
const PAGE = 1_000;

export const logs: TenantCommand = {
  name: 'logs',
  usage: 'ID [--follow] [-o json]',
  what: 'shows what a sandbox and its processes print',
  options: { follow: { type: 'boolean', short: 'f' }, output: { type: 'string', short: 'o' } },
  names: [1, 1],
  run: async (call) => {
    const api = openApi(call.account);
    const [sandboxID = ''] = call.names;
    let cursor = 0;
    /** Of the last instant that was printed: several lines may have it. */
    let printed = new Set<string>();
    for (;;) {
      const query = { cursor, limit: PAGE, direction: 'forward' as const };
      const params = { path: { sandboxID }, query };
      const answer = await api.GET('/v2/sandboxes/{sandboxID}/logs', { params, signal: call.signal });
      const { logs: page } = unwrap(answer);
      const fresh = page.filter((each) => !printed.has(JSON.stringify(each)));
      for (const each of fresh) call.out.write(format(call, each));
      const last = page.at(-1);
      if (last !== undefined) {
        cursor = Date.parse(last.timestamp);
        printed = new Set(
          page.filter((each) => Date.parse(each.timestamp) === cursor).map((each) => JSON.stringify(each)),
        );
      }
      if (fresh.length > 0) continue;
      if (call.values['follow'] !== true || (await hasEnded(call, sandboxID)) || !(await sleep(call.signal))) return 0;
    }
  },
};

interface Entry {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
}

function format(call: Call, entry: Entry): string {
  if (getText(call, 'output') === 'json') return `${JSON.stringify(entry)}\n`;
  return `${entry.timestamp} ${entry.level.padEnd(5)} ${clean(entry.message)}\n`;
}

/** A log of a sandbox that is gone has an end. */
async function hasEnded({ account, signal }: Call, sandboxID: string): Promise<boolean> {
  const { response } = await openApi(account).GET('/sandboxes/{sandboxID}', {
    params: { path: { sandboxID } },
    signal,
  });
  return response.status === 404;
}

/** False when the user interrupts it. */
function sleep(signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve(true);
    }, POLL_MS);
    signal.addEventListener('abort', stop, { once: true });
  });
}

export const usage: TenantCommand = {
  name: 'usage',
  usage: '[--start DAY] [--end DAY] [--by day|key] [-o json]',
  what: 'says what your sandboxes have used',
  options: {
    start: { type: 'string' },
    end: { type: 'string' },
    by: { type: 'string' },
    output: { type: 'string', short: 'o' },
  },
  names: [0, 0],
  run: async (call) => {
    const [start, end, by] = [getText(call, 'start'), getText(call, 'end'), getText(call, 'by')];
    const group = (['day', 'key'] as const).find((each) => each === by);
    if (by !== undefined && group === undefined) throw buildUsageError(usage, `--by takes day or key, not "${by}"`);
    const query = {
      ...(start === undefined ? {} : { start }),
      ...(end === undefined ? {} : { end }),
      ...(group === undefined ? {} : { group }),
    };
    const found = unwrap(await openApi(call.account).GET('/api/v1/usage', { params: { query }, signal: call.signal }));
    if (getText(call, 'output') === 'json') call.out.write(`${JSON.stringify(found, undefined, 2)}\n`);
    else call.out.write(`${formatUsage(found)}\n`);
    return 0;
  },
};

interface Amounts {
  readonly sandboxSeconds: number;
  readonly cpuSeconds: number;
  readonly gibHours: number;
}

function formatUsage(found: {
  readonly start: string;
  readonly end: string;
  readonly total: Amounts;
  readonly groups?: readonly (Amounts & { readonly key?: string | null; readonly day?: string })[];
}): string {
  const format = ({ sandboxSeconds, cpuSeconds, gibHours }: Amounts): string[] => [
    String(Math.round(sandboxSeconds)),
    String(Math.round(cpuSeconds)),
    gibHours.toFixed(2),
  ];
  const rows = (found.groups ?? []).map((each) => [each.day ?? each.key ?? '(no key)', ...format(each)]);
  const total = [`${found.start} to ${found.end}`, ...format(found.total)];
  return formatTable([['', 'SANDBOX SECONDS', 'CPU SECONDS', 'GIB HOURS'], ...rows, total]);
}
