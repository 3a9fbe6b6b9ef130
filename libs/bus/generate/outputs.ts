import { z } from 'zod';
import { about, eventData, eventTypes } from '../src/events/catalogue.ts';
import type { EventType } from '../src/events/catalogue.ts';
import { envelope, schemaUrl } from '../src/events/cloudevent.ts';

/** A generated file, relative to the checkout. */
export interface Output {
  readonly path: string;
  readonly text: string;
}

type Schema = Readonly<Record<string, unknown>>;

/** Every generated file: a schema per event type, one for the envelope, and the AsyncAPI document. */
export function outputsOf(): readonly Output[] {
  const schemas = eventTypes.map((type) => file(`v1/${type}.json`, dataSchema(type)));
  return [...schemas, file('v1/cloudevent.json', envelopeSchema()), file('asyncapi.json', asyncApi())];
}

function file(name: string, content: Schema): Output {
  return { path: `docs/events/${name}`, text: `${JSON.stringify(content, null, 2)}\n` };
}

function schemaOf(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: 'input' });
}

function dataSchema(type: EventType): Schema {
  const { $schema, ...rest } = schemaOf(eventData[type]);
  return { $schema, $id: schemaUrl(type), title: type, description: about[type], ...rest };
}

function envelopeSchema(): Schema {
  const { $schema, ...rest } = schemaOf(envelope);
  return { $schema, $id: schemaUrl('cloudevent'), title: 'CloudEvents 1.0 envelope of lifecycle events', ...rest };
}

function asyncApi(): Schema {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Sandlot lifecycle events',
      version: '1.0.0',
      description:
        'CloudEvents 1.0 in JSON on NATS JetStream, stream SANDLOT_EVENTS. At least once, one id per transition.',
    },
    defaultContentType: 'application/cloudevents+json',
    channels: Object.fromEntries(eventTypes.map((type) => [type, channelOf(type)])),
    operations: Object.fromEntries(eventTypes.map((type) => [`receive.${type}`, operationOf(type)])),
    components: { messages: Object.fromEntries(eventTypes.map((type) => [type, messageOf(type)])) },
  };
}

function channelOf(type: EventType): Schema {
  return {
    address: `sandlot.{namespace}.${type}`,
    description: about[type],
    parameters: { namespace: { description: 'Namespace of the object, percent-encoded where NATS needs it.' } },
    messages: { [type]: { $ref: `#/components/messages/${type}` } },
  };
}

function operationOf(type: EventType): Schema {
  return { action: 'receive', channel: { $ref: `#/channels/${type}` }, summary: about[type] };
}

function messageOf(type: EventType): Schema {
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
