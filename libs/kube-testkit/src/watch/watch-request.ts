import { internalError } from '../server/api-error.ts';
import { forbiddenValue } from '../rules/builtin-rules.ts';
import type { Definition } from '../storage/served-resource.ts';
import { invalidListOptions, parseRevision, parseSelector } from '../server/lists.ts';
import type { ApiRequest } from '../server/request.ts';
import type { WatchRequest } from './watch.ts';

/** Parses the parameters of a watch. `watchList`: the server supports streaming lists. */
export function parseWatch({ info, query }: ApiRequest, definition: Definition, watchList: boolean): WatchRequest {
  const asked = query.get('sendInitialEvents');
  refuseWatchParameters(query, watchList);
  const revision = parseRevision(query, internalError);
  const present = asked === null ? revision === undefined || revision === 0 : asked === 'true';
  const timeoutSeconds = Number(query.get('timeoutSeconds') ?? '0');
  return {
    info,
    definition,
    matches: parseSelector(definition, info, query),
    since: present ? undefined : (revision ?? 0),
    // A watch that begins with the existing objects and allows bookmarks is a streaming list, even without the parameter.
    sendInitialEvents: present && watchList,
    bookmarks: query.get('allowWatchBookmarks') === 'true' || query.get('allowWatchBookmarks') === '1',
    timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1_000 : undefined,
  };
}

function refuseWatchParameters(query: URLSearchParams, watchList: boolean): void {
  const match = query.get('resourceVersionMatch');
  if (!query.has('sendInitialEvents')) {
    if (match === null) return;
    const rule = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
    throw invalidListOptions([forbiddenValue('resourceVersionMatch', rule)]);
  }
  if (!watchList) {
    const rule = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    throw invalidListOptions([forbiddenValue('sendInitialEvents', rule)]);
  }
  if (match === 'NotOlderThan') return;
  const rule = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
  throw invalidListOptions([forbiddenValue('resourceVersionMatch', rule)]);
}
