import { z } from 'zod';
import { QUANTITY } from '../compare/quantity.ts';
import { rules } from './field.ts';

/** More than any quantity needs; it bounds the cost of the rules. */
const MAX_LENGTH = 32;
/** More names than a container needs; it bounds the cost of the rules. */
const MAX_NAMES = 16;

/** A whole number of CPUs or a quantity. Rules of the object around it say how large it may be. */
const quantity = z
  .union([z.int().min(0), z.string().max(MAX_LENGTH).regex(QUANTITY)])
  .meta({ 'x-kubernetes-int-or-string': true, minimum: 0, maxLength: MAX_LENGTH, pattern: QUANTITY.source });

/** CEL: the quantity at this path, which may be a number or a text. */
const readQuantity = (path: string): string => `quantity(string(${path}))`;

const isPositive = (path: string): string => `${readQuantity(path)}.isGreaterThan(quantity('0'))`;

const amounts = z.record(z.string(), quantity).meta({
  maxProperties: MAX_NAMES,
  ...rules(
    {
      rule: "self.all(name, name == 'cpu')",
      message: 'only cpu can be changed in place; memory and other resources are those of the template',
    },
    { rule: `!('cpu' in self) || ${isPositive("self['cpu']")}`, message: 'cpu must be more than 0' },
  ),
});

/** `inplaceUpdate` of a SandboxClaim (docs/reference/sandbox-claim.md#delivery). */
export const inplaceUpdate = z
  .object({
    image: z.string().min(1).optional().describe('Image of the first container.'),
    resources: z
      .object({
        requests: amounts.optional().describe('`cpu` and nothing else.'),
        limits: amounts.optional().describe('`cpu` and nothing else.'),
      })
      .meta(
        rules({
          rule: "(has(self.requests) && 'cpu' in self.requests) || (has(self.limits) && 'cpu' in self.limits)",
          message: 'cpu must be set in requests or limits',
        }),
      )
      .optional()
      .describe('CPU of the first container. What is left out stays as the template has it.'),
  })
  .meta(rules({ rule: 'has(self.image) || has(self.resources)', message: 'image or resources must be set' }));

/** `resourcesOverridePolicy` of a SandboxTemplate. */
export const resourcesOverridePolicy = z
  .object({
    maxCPU: quantity.describe('The highest request or limit that a claim may ask for.'),
    minCPU: quantity.optional().describe('The lowest one; any when unset.'),
  })
  .meta(
    rules(
      { rule: isPositive('self.maxCPU'), message: 'maxCPU must be more than 0' },
      {
        rule: `!has(self.minCPU) || ${readQuantity('self.minCPU')}.compareTo(${readQuantity('self.maxCPU')}) <= 0`,
        message: 'minCPU must not be above maxCPU',
      },
    ),
  );
