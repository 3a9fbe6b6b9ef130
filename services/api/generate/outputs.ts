import openapiTypes, { astToString } from 'openapi-typescript';
import type { OpenAPI3 } from 'openapi-typescript';
import { openApi } from '../src/wiring/routes.ts';

/** A generated file; the path is relative to the checkout. */
export interface Output {
  readonly path: string;
  readonly text: string;
}

const HEADER = '// Generated from the OpenAPI document of the api by `npm run generate`.\n\n';

/** The OpenAPI document, and the types of the client that are derived from it. */
export async function listOutputs(): Promise<readonly Output[]> {
  const document = openApi();
  const text = `${JSON.stringify(document, null, 2)}\n`;
  const types = astToString(await openapiTypes(JSON.parse(text) as OpenAPI3, { alphabetize: true }));
  return [
    { path: 'docs/openapi/sandlot.json', text },
    { path: 'libs/client/src/generated/api.ts', text: HEADER + types },
  ];
}
