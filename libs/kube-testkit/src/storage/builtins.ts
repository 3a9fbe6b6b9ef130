import {
  customResourceDefinitions,
  events,
  leases,
  namespaces,
  networkPolicies,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  secrets,
  services,
  storageClasses,
} from '@sandlot/kube';
import type { BuiltinResource } from './served-resource.ts';
import {
  defaultDisk,
  defaultNamespace,
  defaultNetworkPolicy,
  defaultPod,
  defaultService,
  protectDisk,
} from '../rules/builtin-defaults.ts';
import { validateDisk, validateEvent, validatePod, validateService } from '../rules/builtin-rules.ts';

/** The built-in kinds that this project uses. */
export const builtinResources: readonly BuiltinResource[] = [
  {
    resource: pods,
    generation: true,
    graceful: true,
    selectableFields: [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.serviceAccountName',
      'status.phase',
      'status.podIP',
    ],
    defaults: defaultPod,
    validate: validatePod,
  },
  { resource: services, generation: false, defaults: defaultService, validate: validateService },
  {
    resource: persistentVolumeClaims,
    generation: false,
    defaults: defaultDisk,
    admit: protectDisk,
    validate: validateDisk,
  },
  { resource: persistentVolumes, generation: false },
  { resource: namespaces, generation: false, selectableFields: ['status.phase'], defaults: defaultNamespace },
  { resource: nodes, generation: false, selectableFields: ['spec.unschedulable'] },
  { resource: leases, generation: false, status: false },
  {
    resource: events,
    generation: false,
    status: false,
    selectableFields: ['reason', 'type', 'regarding.kind', 'regarding.name', 'regarding.namespace', 'regarding.uid'],
    validate: validateEvent,
  },
  { resource: secrets, generation: false, status: false, selectableFields: ['type'] },
  { resource: networkPolicies, generation: true, status: false, defaults: defaultNetworkPolicy },
  { resource: podDisruptionBudgets, generation: true },
  { resource: storageClasses, generation: false, status: false },
  { resource: customResourceDefinitions, generation: true },
];
