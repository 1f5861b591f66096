// The face served by `perdure serve` in a process of its own, and a client of the SDK for it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, onTestFinished } from 'vitest';
import type { ManagedSettings } from '../../worker/config/config.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import type { cliPlace } from '../support/cli.ts';
import { until } from '../support/until.ts';

type Place = ReturnType<typeof cliPlace>;

/** Gives the workers of a place what the configuration says of managed sessions. */
export function configureManaged({ root }: Place, managed: ManagedSettings): void {
  const config = { memory: false, snapshots: false, managed };
  writeFileSync(join(root, 'settings/perdure/perdure.config.mjs'), `export default ${JSON.stringify(config)};`);
}

/** The server is killed with the test. */
export async function serveManaged(
  place: Place,
  options: Pick<ClientOptions, 'maxRetries'> = { maxRetries: 0 },
  flags: readonly string[] = [],
): Promise<Anthropic> {
  const port = await findFreePort();
  const server = place.start(['serve', '--port', `${port}`, '--managed', join(place.root, 'agents'), ...flags]);
  onTestFinished(() => server.signal('SIGKILL'));
  await until(() => server.out().includes('page '));
  const apiKey = (await place.run('serve', '--token')).out.trim();
  return new Anthropic({
    apiKey,
    authToken: null,
    baseURL: `http://127.0.0.1:${port}`,
    logLevel: 'off',
    ...options,
  });
}

/** Times strictly increase, no id comes twice, and each idle follows what was used (G10 G34). */
export function expectWellFormed(events: readonly BetaManagedAgentsSessionEvent[]): void {
  const times = events.map(({ processed_at }) => String(processed_at));
  expect(times).toEqual([...new Set(times)].toSorted());
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  for (const [at, { type }] of events.entries())
    if (type === 'session.status_idle') expect(events[at - 1]?.type).toBe('session.usage');
}
