import type { Table } from '../../model.ts';
import { otherMethods, templateMethods } from './other-methods.ts';
import { insideMethods, sandboxMethods } from './sandbox-methods.ts';

/** Every method of the client for JavaScript. The one for Python has the same under the names of Python. */
export const methodTables: readonly Table[] = [sandboxMethods, insideMethods, templateMethods, otherMethods];
