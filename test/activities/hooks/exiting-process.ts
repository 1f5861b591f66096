// A process that exits while a command of a post-sampling hook runs: as soon as both of the
// command's processes are there. Argument: a folder.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import { createHookRunner } from '../../../activities/hooks/hook-runner.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';

const cwd = process.argv[2] ?? '';
const command = 'trap "" TERM; setsid sleep 60 & echo $$ $! > pids.new; mv pids.new pids; wait';
const hooks = createHookRunner({ postSampling: [{ command }] }, { env: process.env, folder: '/nowhere' });
const context = { session: 's-1' as SessionId, queryId: 'chain.1', depth: 0, iteration: 1, cwd };
void hooks.postSampling({ ...context, signal: new AbortController().signal }, {} as Message);
setInterval(() => {
  if (existsSync(join(cwd, 'pids'))) process.exit(0);
}, 5);
