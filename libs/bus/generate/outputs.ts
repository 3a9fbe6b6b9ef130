import { z } from 'zod';
import { about, eventData, eventTypes } from '../src/events/catalogue.ts';
import type { EventType } from '../src/events/catalogue.ts';
import { envelope, formatSchemaUrl } from '../src/events/cloudevent.ts';

/** A generated file, relative to the checkout. */
export interface Output {
  readonly path: string;
  readonly text: string;
}

type Schema = Readonly<Record<string, unknown>>;

/** Every generated file: a schema per event type, one for the envelope, and the AsyncAPI document. */
export function listOutputs(): readonly Output[] {
  const schemas = eventTypes.map((type) => file(`v1/${type}.json`, buildDataSchema(type)));
  return [...schemas, file('v1/cloudevent.json', buildEnvelopeSchema()), file('asyncapi.json', buildAsyncApi())];
}

function file(name: string, content: Schema): Output {
  return { path: `docs/events/${name}`, text: `${JSON.stringify(content, null, 2)}\n` };
}

function getSchema(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: 'input' });
}

function buildDataSchema(type: EventType): Schema {
  const { $schema, ...rest } = getSchema(eventData[type]);
  return { $schema, $id: formatSchemaUrl(type), title: type, description: about[type], ...rest };
}

function buildEnvelopeSchema(): Schema {
  const { $schema, ...rest } = getSchema(envelope);
  return {
    $schema,
    $id: formatSchemaUrl('cloudevent'),
    title: 'CloudEvents 1.0 envelope of lifecycle events',
    ...rest,
  };
}

function buildAsyncApi(): Schema {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Sandlot lifecycle events',
      version: '1.0.0',
      description:
        'CloudEvents 1.0 in JSON on NATS JetStream, stream SANDLOT_EVENTS. At least once, one id per transition.',
    },
    defaultContentType: 'application/cloudevents+json',
    channels: Object.fromEntries(eventTypes.map((type) => [type, buildChannel(type)])),
    operations: Object.fromEntries(eventTypes.map((type) => [`receive.${type}`, buildOperation(type)])),
    components: { messages: Object.fromEntries(eventTypes.map((type) => [type, buildMessage(type)])) },
  };
}

function buildChannel(type: EventType): Schema {
  return {
    address: `sandlot.{namespace}.${type}`,
    description: about[type],
    parameters: { namespace: { description: 'Namespace of the object, percent-encoded where NATS needs it.' } },
    messages: { [type]: { $ref: `#/components/messages/${type}` } },
  };
}

function buildOperation(type: EventType): Schema {
  return { action: 'receive', channel: { $ref: `#/channels/${type}` }, summary: about[type] };
}

function buildMessage(type: EventType): Schema {
  const envelopeRef = { $ref: './v1/cloudevent.json' };
  const dataRef = { type: 'object', properties: { data: { $ref: `./v1/${type}.json` } }, required: ['data'] };
  return {
    name: type,
    title: type,
    contentType: 'application/cloudevents+json',
    headers: {
      type: 'object',
      properties: { 'Nats-Msg-Id': { type: 'string', description: 'The event id.' }, traceparent: { type: 'string' } },
    },
    payload: { allOf: [envelopeRef, dataRef] },
  };
}
