import type { KindFields } from '../../model.ts';
import { claimFields } from './claim-fields.ts';
import { poolFields } from './pool-fields.ts';
import { sandboxFields } from './sandbox-fields.ts';
import { templateFields } from './template-fields.ts';

export const fieldTables: readonly KindFields[] = [sandboxFields, templateFields, poolFields, claimFields];
