import type { Table } from '../../model.ts';
import { sandboxOperations } from './sandbox-operations.ts';
import { administration, events, secrets, templates, volumes } from './other-operations.ts';

/** Every operation of the API, as `METHOD /path`. */
export const operationTables: readonly Table[] = [
  sandboxOperations,
  templates,
  volumes,
  secrets,
  administration,
  events,
];
