import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findGatewayApiCrds, findGoModule } from '@sandlot/local-cluster';
import { parse } from 'yaml';
import { chartFolder } from '../chart.ts';
import type { Definitions, Schema } from './strict-schema.ts';
import { makeStrict } from './strict-schema.ts';

/** Releases whose specifications hold for the chart: the oldest that Chart.yaml admits, and that of the local cluster. */
export const releases = { oldest: '1.30.0', newest: '1.36.3' } as const;

const MODULES = {
  kubernetes: (version: string): string => `k8s.io/kubernetes@v${version}`,
  prometheusOperator: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
};

interface CustomResourceDefinition {
  readonly kind?: string;
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

/** Returns the definitions of the specification that belongs to this release of Kubernetes. */
export async function readDefinitions(version: string): Promise<Definitions> {
  const folder = await findGoModule(MODULES.kubernetes(version));
  const text = await readFile(join(folder, 'api/openapi-spec/swagger.json'), 'utf8');
  return (JSON.parse(text) as { readonly definitions: Definitions }).definitions;
}

/** Returns the schemas of custom resources that the chart can render: `apiVersion/kind` -> schema. */
export async function readCustomSchemas(): Promise<ReadonlyMap<string, Schema>> {
  const [gateways, prometheus] = await Promise.all([findGatewayApiCrds(), findGoModule(MODULES.prometheusOperator)]);
  const folders = [
    join(chartFolder, 'files/crds'),
    gateways,
    join(prometheus, 'example/prometheus-operator-crd'),
  ];
  const wanted = /snapshotclasses|httproutes|servicemonitors|podmonitors|prometheusrules/;
  const schemas = new Map<string, Schema>();
  for (const folder of folders) {
    for (const file of (await readdir(folder)).filter((name) => wanted.test(name))) {
      const { spec } = parse(await readFile(join(folder, file), 'utf8')) as CustomResourceDefinition;
      for (const { name, schema } of spec.versions)
        schemas.set(`${spec.group}/${name}/${spec.names.kind}`, makeStrict(schema.openAPIV3Schema));
    }
  }
  return schemas;
}
