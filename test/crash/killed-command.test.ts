// A command that is killed with everything under way: nothing of what it had started outlives it,
// and its Temporal server does only for as long as another may come.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { ofRun, seeProcesses } from '../support/left-over.mjs';
import { oddServer } from '../support/mcp/servers.ts';
import { until } from '../support/until.ts';

const UNDER_WAY = ['in background', 'in foreground', 'in a session of its own', 'of a hook', 'odd-server.mjs'];

test('what a killed `run` has started ends with it, and its Temporal server when no other has come (L40 L48)', async () => {
  const model = await modelFor([
    reply([toolUse('bash', { command: 'sleep 1000; : in background', background: true })]),
    reply([toolUse('mcp__odd__child', {})]),
    reply([
      toolUse('bash', {
        command: 'setsid sh -c "sleep 1000; : in a session of its own" & sleep 1000; : in foreground',
      }),
    ]),
  ]);
  const place = cliPlace(model);
  const config = {
    memory: false,
    mcpServers: { odd: oddServer() },
    hooks: { postSampling: [{ command: 'sleep 1000; : of a hook' }] },
  };
  writeFileSync(
    join(place.root, 'settings', 'perdure', 'perdure.config.mjs'),
    `export default ${JSON.stringify(config)};`,
  );
  const run = place.start(['run', '--permission-mode', 'bypass', 'Work.']);
  const started = () => ofRun(place.root, seeProcesses(), process.pid).filter(({ pid }) => pid !== run.pid);
  await until(() => UNDER_WAY.every((name) => started().some(({ line }) => line.includes(name))));
  run.signal('SIGKILL');
  await run.status;
  await until(() => started().every(({ line }) => /start-dev|watch-process/.test(line)));
  await until(() => started().length === 0);
  const log = readFileSync(join(place.data, 'server.log'), 'utf8');
  expect(log).toContain(`no process has used the data folder ${place.data} for 30 s`);
});
