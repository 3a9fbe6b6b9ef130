import { findCondition, sandboxes } from '@sandlot/api-types';
import { afterAll, describe, expect, it } from 'vitest';
import { RUNS_UNTIL_ENDED } from '../support/boxes.ts';
import { COMPONENTS, startComponent, killComponent } from '../support/components.ts';
import { createBox, listNames, waitForReadySandbox, waitForPhase } from '../support/lifecycle.ts';
import { eventually, runInTeam } from '../support/team.ts';

const getSeconds = (time: string | undefined): number => Date.parse(time ?? '') / 1_000;

describe('when every component is killed in between', () => {
  afterAll(() => Promise.all(COMPONENTS.map(startComponent)));

  it('deadlines, idle limits and restarts still take effect', () =>
    runInTeam('killed', async (team) => {
      const restart = { restart: 'OnFailure' as const, backoffSeconds: 12, maxBackoffSeconds: 12 };
      await Promise.all([
        createBox(team, 'expires', { spec: { ttlSeconds: 20 } }),
        createBox(team, 'deletes', { spec: { ttlSeconds: 20, shutdownPolicy: 'Delete' } }),
        createBox(team, 'idles', { spec: { idle: { suspendAfterSeconds: 12 } } }),
        createBox(team, 'unused', { spec: { idle: { deleteAfterSeconds: 12 } } }),
        createBox(team, 'restarts', {
          disk: 'default',
          run: `[ -e /data/tried ] || { touch /data/tried; exit 1; }; ${RUNS_UNTIL_ENDED}`,
          spec: { podFailurePolicy: restart },
        }),
      ]);
      const [waiting, due] = await Promise.all([
        waitForPhase(team, 'restarts', 'Restarting'),
        waitForReadySandbox(team, 'expires'),
        ...['deletes', 'idles', 'unused'].map((name) => waitForReadySandbox(team, name)),
      ]);
      await Promise.all(COMPONENTS.map((component) => killComponent(team, component)));
      await Promise.all(COMPONENTS.map(startComponent));
      const expired = await waitForPhase(team, 'expires', 'Expired');
      const expiredAt = findCondition(expired.status?.conditions, 'Ready')?.lastTransitionTime;
      expect(getSeconds(expiredAt)).toBeGreaterThanOrEqual(getSeconds(due.status?.expiresAt));
      const suspended = await waitForPhase(team, 'idles', 'Suspended');
      expect(suspended.status).toMatchObject({ suspendedBy: 'Idle' });
      const back = await waitForReadySandbox(team, 'restarts');
      expect(back.status?.restarts).toMatchObject({
        count: 1,
        lastReason: 'Error',
        lastExitTime: waiting.status?.restarts?.lastExitTime,
      });
      await eventually('the expired and unused Sandboxes are deleted', async () =>
        (await listNames(team, sandboxes)).join() === 'expires,idles,restarts' ? true : undefined,
      );
    }));
});
