// A Temporal server of one test's own, with other settings than the tier's. It ends with the test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { onTestFinished } from 'vitest';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { serverArgs } from '../../worker/embedded/server-args.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

/** Its address. `settings`: of its dynamic configuration. */
export async function ownServer(...settings: readonly string[]): Promise<string> {
  const { path } = await findBinary({ env: process.env, wanted: null, say: () => {} });
  const port = await findFreePort();
  const args = serverArgs({ port, database: join(tempDir(), 'temporal.db'), uiPort: null });
  const more = settings.flatMap((setting) => ['--dynamic-config-value', setting]);
  const server = spawn(path, [...args, ...more], { stdio: 'ignore' });
  onTestFinished(async () => {
    const ended = once(server, 'exit');
    if (server.exitCode === null && server.kill('SIGKILL')) await ended;
  });
  const address = `127.0.0.1:${port}`;
  await until(async () => {
    try {
      const connection = await Connection.connect({ address });
      await connection.close();
      return true;
    } catch {
      return false;
    }
  });
  return address;
}
