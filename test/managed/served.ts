// The face served by `perdure serve` in a process of its own, and a client of the SDK for it.
import { join } from 'node:path';
import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk';
import { onTestFinished } from 'vitest';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import type { cliPlace } from '../support/cli.ts';
import { until } from '../support/until.ts';

/** The server is killed with the test. */
export async function serveManaged(
  place: ReturnType<typeof cliPlace>,
  options: Pick<ClientOptions, 'maxRetries'> = { maxRetries: 0 },
): Promise<Anthropic> {
  const port = await findFreePort();
  const server = place.start(['serve', '--port', `${port}`, '--managed', join(place.root, 'agents')]);
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
