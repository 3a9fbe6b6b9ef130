import type { Clock } from '@sandlot/std';
import { addAmounts, convertAmounts, DAY_MS, formatDay, getStartOfDay, NOTHING } from '@sandlot/usage';
import type { Amounts, Day, DayEntry, Span } from '@sandlot/usage';
import type { ApiKey } from '@sandlot/tenancy';
import { z } from 'zod';
import { badRequest } from '../errors/api-error.ts';
import { notEnabled } from '../errors/refusals.ts';
import { endpoint, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { readUsageDays } from '../usage/usage-days.ts';
import type { UsageDeps } from '../usage/usage-days.ts';
import * as schemas from './schemas.ts';
import { getNamespace } from './scope.ts';

export interface UsageRouteDeps extends UsageDeps {
  readonly clock: Pick<Clock, 'now'>;
}

const DEFAULT_DAYS = 30;
/** Each day is an entry that the answer reads. */
const MOST_DAYS = 93;

const day = z.iso.date().optional();
const usageQuery = schemas.scope.extend({
  start: day.meta({ description: 'The first day, in UTC; default: 29 days before the last.' }),
  end: day.meta({ description: 'The last day; default: today.' }),
  group: z.enum(['key', 'day']).optional().meta({ description: 'Adds usage by API key, or by day.' }),
});

const used = {
  sandboxSeconds: z.number().meta({ description: 'Time that sandboxes have run.' }),
  cpuSeconds: z.number().meta({ description: 'Requested CPUs times that time.' }),
  gibHours: z.number().meta({ description: 'Requested memory times that time.' }),
};

const usageAnswer = z
  .object({
    namespace: z.string(),
    start: z.string(),
    end: z.string(),
    asOf: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'Until when sandboxes that run are counted; null without usage.' }),
    total: z.object(used),
    groups: z
      .array(z.object({ key: z.string().nullable().optional(), day: z.string().optional(), ...used }))
      .optional()
      .meta({ description: 'The key is null for claims that no API key made.' }),
  })
  .meta({ id: 'Usage' });

/** What sandboxes have used: an admin sees all of a namespace, another key its own part. */
export function buildUsageRoutes({ usage, clock }: UsageRouteDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('getUsage', 'get /api/v1/usage', 'Says what the sandboxes of an API key have used.'),
        tag: 'usage',
        query: usageQuery,
        answers: { 200: { description: 'Sums of the days, which are those of UTC.', schema: usageAnswer } },
      },
      async ({ key, query }) => {
        const namespace = getNamespace(key, query);
        if (usage === undefined) throw notEnabled('usage is');
        const span = readDays(query, clock.now());
        const days = await readUsageDays(usage, namespace, span);
        const own = [...days].map(([at, entry]): Shown => ({ at, entry, usage: pickUsage(entry, key) }));
        return {
          status: 200,
          body: {
            namespace,
            start: formatDate(formatDay(span.startMs)),
            end: formatDate(formatDay(span.endMs)),
            asOf: formatAsOf(own),
            total: convertAmounts(own.flatMap((each) => Object.values(each.usage)).reduce(addAmounts, NOTHING)),
            ...(query.group === undefined ? {} : { groups: GROUPS[query.group](own) }),
          },
        };
      },
    ),
  ];
}

interface Shown {
  readonly at: Day;
  readonly entry: DayEntry;
  readonly usage: DayEntry['usage'];
}

/** The part that the key may see. */
function pickUsage({ usage }: DayEntry, { id, role }: ApiKey): DayEntry['usage'] {
  if (role === 'admin') return usage;
  const own = usage[id];
  return own === undefined ? {} : { [id]: own };
}

const GROUPS = { key: groupByKey, day: groupByDay } as const;

function groupByKey(days: readonly Shown[]) {
  const sums = new Map<string, Amounts>();
  for (const { usage } of days) {
    for (const [key, amounts] of Object.entries(usage)) sums.set(key, addAmounts(sums.get(key) ?? NOTHING, amounts));
  }
  return [...sums]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([key, amounts]) => ({ key: key === '' ? null : key, ...convertAmounts(amounts) }));
}

function groupByDay(days: readonly Shown[]) {
  return days
    .toSorted((a, b) => a.at.localeCompare(b.at))
    .map(({ at, usage }) => ({
      day: formatDate(at),
      ...convertAmounts(Object.values(usage).reduce(addAmounts, NOTHING)),
    }));
}

/** The days of a query, from the start of the first to that of the last. Throws an ApiError 400. */
function readDays({ start, end }: z.output<typeof usageQuery>, nowMs: number): Span {
  const today = getStartOfDay(formatDay(nowMs));
  const endMs = end === undefined ? today : Date.parse(end);
  const startMs = start === undefined ? endMs - (DEFAULT_DAYS - 1) * DAY_MS : Date.parse(start);
  if (startMs > endMs) throw badRequest(`start (${start ?? ''}) is later than end (${formatDate(formatDay(endMs))})`);
  if (endMs - startMs >= MOST_DAYS * DAY_MS) {
    throw badRequest(`start and end span more than ${MOST_DAYS} days: ask for a shorter time`);
  }
  return { startMs, endMs };
}

function formatDate(at: Day): string {
  return `${at.slice(0, 4)}-${at.slice(4, 6)}-${at.slice(6)}`;
}

function formatAsOf(days: readonly Shown[]): string | null {
  const asOfMs = Math.max(0, ...days.map(({ entry }) => entry.asOfMs));
  return asOfMs === 0 ? null : new Date(asOfMs).toISOString();
}
