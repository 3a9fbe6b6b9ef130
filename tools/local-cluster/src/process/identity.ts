import { readFile } from 'node:fs/promises';

/** Identifies a process even if a later process reuses its pid. */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks after boot, field 22 of /proc/PID/stat. */
  startTime: string;
}

/** Returns the process that has the pid now, or undefined if there is none or only a zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const fields = await readStatFields(pid);
  if (fields === undefined || fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const startTime = fields[19];
  return startTime === undefined ? undefined : { pid, startTime };
}

/** Whether exactly this process still runs. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await identify(identity.pid))?.startTime === identity.startTime;
}

/** Returns the resident memory in bytes, or undefined if the process is gone. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Returns the fields after the command name, which may contain spaces and parentheses. Index 0 is the state. */
async function readStatFields(pid: number): Promise<string[] | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat
    ?.slice(stat.lastIndexOf(')') + 2)
    .trim()
    .split(' ');
}
