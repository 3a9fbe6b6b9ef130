import { readdir, readFile } from 'node:fs/promises';

/** One tick of /proc/PID/stat. USER_HZ is 100 on every Linux that Node supports. */
const MS_PER_TICK = 10;

/** The CPU time in milliseconds, user and system, of a process and its descendants; 10 ms resolution per process. */
export async function readTreeCpuMs(root = process.pid): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(findStat));
  const parents = new Map(stats.flatMap((stat) => (stat === undefined ? [] : [[stat.pid, stat.parent]])));
  const belongs = (pid: number | undefined): boolean =>
    pid === root || (pid !== undefined && pid > 1 && belongs(parents.get(pid)));
  return stats.reduce((sum, stat) => sum + (stat !== undefined && belongs(stat.pid) ? stat.ticks : 0), 0) * MS_PER_TICK;
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

async function findStat(pid: number): Promise<Stat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The program name in parentheses may contain anything: count the fields after it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [, parent = '', user = '', system = ''] = [fields[0], fields[1], fields[11], fields[12]];
  return parent === '' ? undefined : { pid, parent: Number(parent), ticks: Number(user) + Number(system) };
}
