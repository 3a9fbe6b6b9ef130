import { parseMilliCpu } from '../compare/quantity.ts';
import type { SandboxClaim } from '../objects.ts';

type Quantity = string | number;
type Amounts = Readonly<Record<string, Quantity>>;

/** Requests and limits of a container. */
export interface Resources {
  readonly requests?: Amounts | undefined;
  readonly limits?: Amounts | undefined;
}

/** CPU of a container; what is absent is not asked for, or not set. */
export interface Cpu {
  readonly request?: Quantity | undefined;
  readonly limit?: Quantity | undefined;
}

export function readCpu({ requests, limits }: Resources = {}): Cpu {
  return { request: requests?.['cpu'], limit: limits?.['cpu'] };
}

/** The CPU that a claim asks for; undefined when it asks for none. */
export function findAskedCpu({ spec }: Pick<SandboxClaim, 'spec'>): Cpu | undefined {
  const { request, limit } = readCpu(spec.inplaceUpdate?.resources);
  return request === undefined && limit === undefined ? undefined : { request, limit };
}

/** Whether a container with this CPU has what is asked for. Kubelets know whole thousandths. */
export function hasCpu(present: Cpu, asked: Cpu): boolean {
  const has = (wanted: Quantity | undefined, found: Quantity | undefined): boolean =>
    wanted === undefined || (found !== undefined && parseMilliCpu(found) === parseMilliCpu(wanted));
  return has(asked.request, present.request) && has(asked.limit, present.limit);
}

/**
 * Resources with the CPU that is asked for. The API server makes a limit without a request the request of a new Pod. That
 * request stays when the limit changes, so that a new Pod gets what a running one has.
 */
export function withCpu(resources: Resources, asked: Cpu): Resources {
  const before = readCpu(resources);
  const request = asked.request ?? before.request ?? (asked.limit === undefined ? undefined : before.limit);
  const limit = asked.limit ?? before.limit;
  return {
    ...resources,
    ...(request === undefined ? {} : { requests: { ...resources.requests, cpu: request } }),
    ...(limit === undefined ? {} : { limits: { ...resources.limits, cpu: limit } }),
  };
}

/** The text of the annotation `sandlot.dev/inplace-cpu`. */
export function formatCpu({ request, limit }: Cpu): string {
  const parts = [
    ...(request === undefined ? [] : [`request=${request}`]),
    ...(limit === undefined ? [] : [`limit=${limit}`]),
  ];
  return parts.join(',');
}

/** What {@link formatCpu} wrote. */
export function parseCpu(text: string): Cpu {
  const parts = new Map(text.split(',').map((part) => part.split('=', 2) as [string, string | undefined]));
  return { request: parts.get('request'), limit: parts.get('limit') };
}
