import type { SandboxSnapshot, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { BuiltName } from './built/built-name.ts';

/** What a claim starts from: a pool, or a template without a pool. */
export type Source =
  | {
      readonly kind: 'pool';
      readonly name: string;
      readonly object: SandboxWarmPool;
      /** What clients call it, if it was built over the API. */
      readonly built?: BuiltName | undefined;
    }
  | {
      readonly kind: 'template';
      readonly name: string;
      readonly object: SandboxTemplate;
      readonly built?: BuiltName | undefined;
      /** The snapshot that made the template, if a client of the API asked for it. */
      readonly snapshot?: SandboxSnapshot;
    };
