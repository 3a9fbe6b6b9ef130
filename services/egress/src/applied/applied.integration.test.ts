import { annotations, formatStoredHeadersName, formatTemplateEgress, labels, sandboxClaims } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { closed, EgressStack, LISTED, OTHER, PATIENCE, TEAM, VAULT } from '../../test/stack.ts';

let stack: EgressStack;
beforeAll(async () => {
  stack = await EgressStack.start();
});
afterAll(() => stack[Symbol.asyncDispose]());

describe('which rules of a claim are applied', () => {
  const read = async (uid: string): ReturnType<EgressStack['readReport']> => stack.readReport(`applied/${TEAM}/${uid}`);

  it('is said of the text by which the data plane answers, with the address', async () => {
    const [first, second] = [closed(LISTED), closed(OTHER)];
    const uid = await stack.claim('applied', '127.0.52.17', { network: first });
    await vi.waitFor(
      async () => expect(await read(uid)).toEqual([200, { text: first, addresses: ['127.0.52.17'] }]),
      PATIENCE,
    );
    expect(await stack.plane.ask('127.0.52.17', LISTED)).toBe(stack.proxy);
    await stack.setNetwork('applied', second);
    await vi.waitFor(async () => expect((await read(uid))[1]).toMatchObject({ text: second }), PATIENCE);
    expect(await stack.plane.ask('127.0.52.17', LISTED)).toBe('ENOTFOUND');
    // The data plane answers by the list of names, which is the same.
    const third = `${second} `;
    await stack.setNetwork('applied', third);
    await vi.waitFor(async () => expect((await read(uid))[1]).toMatchObject({ text: third }), PATIENCE);
  });

  it('is not said of a claim that has no address, nor of one that is not known', async () => {
    const { metadata } = await stack.client.create(sandboxClaims, {
      metadata: { namespace: TEAM, name: 'alone', annotations: { [annotations.network]: closed(LISTED) } },
      spec: { sandboxTemplateRef: { name: 'base' } },
    });
    await vi.waitFor(async () => expect(await read(metadata.uid ?? '')).toEqual([200, {}]), PATIENCE);
    expect(await read('none')).toEqual([404, { error: 'there is no such claim' }]);
    expect((await stack.readReport(`applied/other/${metadata.uid ?? ''}`))[0]).toBe(404);
    expect((await stack.readReport(`constructor/${TEAM}/${metadata.uid ?? ''}`))[0]).toBe(404);
  });

  it('is not said of a sandbox whose template has no policy yet', async () => {
    const network = closed(LISTED);
    const uid = await stack.claim('early', '127.0.52.18', { template: 'awaited', network });
    await stack.expectAnswers('127.0.52.18', { [LISTED]: 'ENOTFOUND' });
    expect(await read(uid)).toEqual([200, {}]);
    await stack.createPolicy('awaited', formatTemplateEgress({ mode: 'OnDemand' }));
    await vi.waitFor(async () => expect((await read(uid))[1]).toMatchObject({ text: network }), PATIENCE);
    expect(await stack.plane.ask('127.0.52.18', LISTED)).toBe(stack.proxy);
  });

  it('is not said while there is no data plane', async () => {
    const network = closed(LISTED);
    const uid = await stack.claim('unheard', '127.0.52.19', { network });
    await vi.waitFor(async () => expect((await read(uid))[1]).toMatchObject({ text: network }), PATIENCE);
    await stack.plane.kill();
    await vi.waitFor(async () => expect(await read(uid)).toEqual([200, {}]), PATIENCE);
    await stack.plane.restart();
    await vi.waitFor(async () => expect((await read(uid))[1]).toMatchObject({ text: network }), PATIENCE);
    expect(await stack.plane.ask('127.0.52.19', LISTED)).toBe(stack.proxy);
  });

  it('is not said before the values are seen that the API stored for its rules', async () => {
    const network = JSON.stringify({ rules: [{ host: LISTED, headers: [{ name: 'A', stored: 'h-a-0' }] }] });
    const uid = await stack.claim('stored', '127.0.52.20', { network });
    await stack.expectAnswers('127.0.52.20', { [OTHER]: 'ESERVFAIL' });
    expect(await read(uid)).toEqual([200, {}]);
    await stack.client.create(secrets, {
      metadata: {
        namespace: VAULT,
        name: formatStoredHeadersName({ uid }),
        labels: { [labels.egressCredential]: 'true' },
      },
      data: { 'h-a-0': Buffer.from('a value').toString('base64') },
    });
    await vi.waitFor(async () => expect((await read(uid))[1]).toMatchObject({ text: network }), PATIENCE);
  });
});
