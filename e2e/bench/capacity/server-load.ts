import type { Stage } from '../claims/stage.ts';
import { readSum } from '../support/prometheus.ts';

/** What the API server did until some moment. */
export interface ServerLoad {
  readonly cpuSeconds: number;
  /** Lists of Sandboxes, claims, pools, templates and Pods: none where watches begin with the objects (`WatchList`). */
  readonly lists: number;
  /** Bytes of the events of all watches. */
  readonly watchMiB: number;
}

const MIB = 1024 ** 2;
const LISTED = ['sandboxes', 'sandboxclaims', 'sandboxwarmpools', 'sandboxtemplates', 'pods'];

export async function readServerLoad(stage: Stage): Promise<ServerLoad> {
  const page = await stage.apiServerMetrics();
  const lists = LISTED.map((resource) =>
    readSum(page, 'apiserver_request_duration_seconds_count', { verb: 'LIST', resource }),
  );
  return {
    cpuSeconds: readSum(page, 'process_cpu_seconds_total'),
    lists: lists.reduce((sum, each) => sum + each, 0),
    watchMiB: readSum(page, 'apiserver_watch_events_sizes_sum') / MIB,
  };
}

export function subtract(after: ServerLoad, before: ServerLoad): ServerLoad {
  return {
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    lists: after.lists - before.lists,
    watchMiB: after.watchMiB - before.watchMiB,
  };
}
