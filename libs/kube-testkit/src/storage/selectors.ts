import type { ApiObject } from './api-object.ts';
import { valueAt } from './api-object.ts';
import { badRequest } from '../server/api-error.ts';

export type Selector = (object: ApiObject) => boolean;

type LabelTest = (value: string | undefined) => boolean;

const OPERAND = String.raw`[^\s=!,()<>]+`;
const SET = new RegExp(String.raw`^(${OPERAND})\s+(in|notin)\s*\(([^()]*)\)$`);
const EQUALITY = new RegExp(String.raw`^(${OPERAND})\s*(==|=|!=)\s*([^\s=!,()<>]*)$`);
const ORDER = new RegExp(String.raw`^(${OPERAND})\s*([<>])\s*(-?\d+)$`);
const EXISTENCE = new RegExp(String.raw`^(!?)\s*(${OPERAND})$`);

/** Parses equality, set and existence requirements. All of them must hold. An empty selector matches everything. */
function labelSelector(text: string): Selector {
  const tests = splitRequirements(text).map(labelRequirement);
  return ({ metadata }) => tests.every(([key, test]) => test(metadata.labels?.[key]));
}

/** Splits at commas outside parentheses. */
function splitRequirements(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function labelRequirement(text: string): [key: string, test: LabelTest] {
  const [, setKey, operator, list] = SET.exec(text) ?? [];
  if (setKey !== undefined) return [setKey, setTest(operator === 'in', list ?? '')];
  const [, key, equality, wanted] = EQUALITY.exec(text) ?? [];
  if (key !== undefined) return [key, (value) => (value === wanted) === (equality !== '!=')];
  const [, orderKey, sign, bound] = ORDER.exec(text) ?? [];
  if (orderKey !== undefined) return [orderKey, orderTest(sign === '>', Number(bound))];
  const [, negation, existing] = EXISTENCE.exec(text) ?? [];
  if (existing !== undefined) return [existing, (value) => (value !== undefined) === (negation === '')];
  throw badRequest(`unable to parse requirement: found '${text}', expected: identifier`);
}

/** `in` or `notin`. `notin` also matches objects without the label. */
function setTest(within: boolean, list: string): LabelTest {
  const values = new Set(list.split(',').map((value) => value.trim()));
  return (value) => (value !== undefined && values.has(value)) === within;
}

function orderTest(greater: boolean, bound: number): LabelTest {
  return (value) => value !== undefined && (greater ? Number(value) > bound : Number(value) < bound);
}

const COMMON_FIELDS = ['metadata.name', 'metadata.namespace'];

/** Parses `=`, `==` and `!=` on the fields that the resource supports. An absent field equals the empty string. */
function parseFieldSelector(text: string, fields: readonly string[]): Selector {
  const tests = splitRequirements(text).map((requirement) => {
    const [, field = '', operator, wanted = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(requirement) ?? [];
    if (field === '') throw badRequest(`invalid selector: '${text}'; can't understand '${requirement}'`);
    if (![...COMMON_FIELDS, ...fields].includes(field)) throw badRequest(`field label not supported: ${field}`);
    const path = field.split('.');
    return (object: ApiObject) => (getFieldText(object, path) === wanted) === (operator !== '!=');
  });
  return (object) => tests.every((test) => test(object));
}

function getFieldText(object: ApiObject, path: readonly string[]): string {
  const value = valueAt(object, path);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** The selection of a list or watch. */
export interface Selection {
  readonly namespace: string | undefined;
  readonly labels: string;
  readonly fields: string;
}

/** Combines the conditions on namespace, labels and fields. */
export function getSelector({ namespace, labels, fields }: Selection, supported: readonly string[]): Selector {
  const byLabel = labelSelector(labels);
  const byField = parseFieldSelector(fields, supported);
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) && byLabel(object) && byField(object);
}
