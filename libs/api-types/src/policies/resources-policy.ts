import { parseMilliCpu, parseQuantity } from '../compare/quantity.ts';
import type { PodSpec } from '../generated/core.ts';
import type { SandboxTemplateSpec } from '../objects.ts';
import { readCpu, withCpu } from '../rules/inplace-cpu.ts';
import type { Cpu, Resources } from '../rules/inplace-cpu.ts';

/** The CPU that a claim asks for, and the Pod spec of its template with the defaults of the installation. */
export interface ResourcesRequest {
  readonly asked: Cpu;
  readonly podSpec: PodSpec;
  readonly policy: SandboxTemplateSpec['resourcesOverridePolicy'];
  /** The Pod gets an init container without resources, so it is never Guaranteed. */
  readonly mayGetContainer: boolean;
}

type Check = (request: ResourcesRequest) => string | undefined;

const CHECKS: readonly Check[] = [checkPolicy, checkCeiling, checkFloor, checkOrder, checkQosClass];

/**
 * Why a claim cannot have the CPU that it asks for, the detail of reason ResourcesOverrideRejected; undefined when it can
 * (docs/reference/sandbox-claim.md#cpu).
 */
export function findResourcesRefusal(request: ResourcesRequest): string | undefined {
  for (const check of CHECKS) {
    const detail = check(request);
    if (detail !== undefined) return detail;
  }
  return undefined;
}

type Ask = readonly [name: 'request' | 'limit', quantity: string | number];

function listAsked({ request, limit }: Cpu): Ask[] {
  return [
    ...(request === undefined ? [] : [['request', request] as const]),
    ...(limit === undefined ? [] : [['limit', limit] as const]),
  ];
}

function checkPolicy({ policy, asked }: ResourcesRequest): string | undefined {
  if (policy !== undefined) return undefined;
  const words = listAsked(asked).map(([name, quantity]) => `a cpu ${name} of "${quantity}"`);
  return `the template has no resourcesOverridePolicy, the claim asks for ${words.join(' and ')}`;
}

function checkCeiling({ policy, asked }: ResourcesRequest): string | undefined {
  if (policy === undefined) return undefined;
  const { maxCPU } = policy;
  const above = listAsked(asked).find(([, quantity]) => parseMilliCpu(quantity) > parseMilliCpu(maxCPU));
  return above && `cpu ${above[0]} "${above[1]}" is above maxCPU "${maxCPU}" of resourcesOverridePolicy`;
}

function checkFloor({ policy, asked }: ResourcesRequest): string | undefined {
  const minCPU = policy?.minCPU;
  if (minCPU === undefined) return undefined;
  const below = listAsked(asked).find(([, quantity]) => parseMilliCpu(quantity) < parseMilliCpu(minCPU));
  return below && `cpu ${below[0]} "${below[1]}" is below minCPU "${minCPU}" of resourcesOverridePolicy`;
}

function checkOrder({ asked, podSpec }: ResourcesRequest): string | undefined {
  const { request, limit } = readCpu(withCpu(podSpec.containers[0]?.resources ?? {}, asked));
  if (request === undefined || limit === undefined || parseMilliCpu(request) <= parseMilliCpu(limit)) return undefined;
  const of = (quantity: unknown): string => (quantity === undefined ? 'template' : 'claim');
  return `cpu request "${request}" of the ${of(asked.request)} is above cpu limit "${limit}" of the ${of(asked.limit)}; ask for both, or for other amounts`;
}

/** A running Pod keeps its QoS class: the API server refuses to resize it otherwise. */
function checkQosClass({ asked, podSpec, mayGetContainer }: ResourcesRequest): string | undefined {
  // The class of such a Pod comes from its own resources alone.
  if (podSpec.resources !== undefined) return undefined;
  const before = getQosClass(podSpec);
  const containers = podSpec.containers.map((container, index) =>
    index === 0 ? { ...container, resources: withCpu(container.resources ?? {}, asked) } : container,
  );
  const after = getQosClass({ ...podSpec, containers });
  if (before === after || (mayGetContainer && before !== 'BestEffort')) return undefined;
  return `the Pod of the template is ${before} and would become ${after}, which no running Pod can; ${ADVICE[before]}`;
}

const ADVICE = {
  BestEffort: 'set a request of cpu or memory in the template',
  Burstable: 'ask for a cpu request below the limit',
  Guaranteed: 'ask for a cpu request and limit that are the same',
} as const;

type QosClass = keyof typeof ADVICE;

/** The QoS class that the API server gives a Pod of this spec. LimitRanges may add resources that this does not see. */
function getQosClass({ containers, initContainers = [] }: Pick<PodSpec, 'containers' | 'initContainers'>): QosClass {
  const all = [...containers, ...initContainers].map(({ resources = {} }) => resources);
  const isSet = (amounts: Resources['requests']): boolean =>
    CLASS_RESOURCES.some((name) => isPositive(amounts?.[name]));
  if (!all.some(({ requests, limits }) => isSet(requests) || isSet(limits))) return 'BestEffort';
  return all.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

const CLASS_RESOURCES = ['cpu', 'memory'] as const;

function isPositive(quantity: string | number | undefined): boolean {
  return quantity !== undefined && (parseQuantity(quantity) ?? 0) > 0;
}

function isGuaranteed({ requests, limits }: Resources): boolean {
  return CLASS_RESOURCES.every((name) => {
    const limit = limits?.[name];
    const request = requests?.[name] ?? limit;
    if (limit === undefined || request === undefined || !isPositive(limit)) return false;
    return parseQuantity(request) === parseQuantity(limit);
  });
}
