import { parseMilliCpu, QUANTITY } from '@sandlot/api-types';
import type { Cpu } from '@sandlot/api-types';
import { badRequest } from '../../errors/api-error.ts';

/** As long as the schema of a claim allows. */
const MAX_LENGTH = 32;

/** Reads the value of `cpu-request` or `cpu-limit`. Throws an ApiError 400. */
export function readCpuQuantity(value: string, key: string): string {
  const isQuantity = value.length <= MAX_LENGTH && QUANTITY.test(value);
  if (isQuantity && parseMilliCpu(value) > 0) return value;
  throw badRequest(`${key}: expected CPUs such as 2, 0.5 or 500m, got "${value}"`);
}

/** What both keys say. Throws an ApiError 400 if no container can have it. */
export function combineCpu({ request, limit }: Readonly<Record<'request' | 'limit', string | undefined>>): {
  readonly cpu?: Cpu;
} {
  if (request === undefined && limit === undefined) return {};
  if (request !== undefined && limit !== undefined && parseMilliCpu(request) > parseMilliCpu(limit)) {
    throw badRequest(`cpu-request "${request}" is above cpu-limit "${limit}"`);
  }
  return { cpu: { request, limit } };
}
