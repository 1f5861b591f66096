// The command of long-conversation.test.ts: --seed N (1), --turns N (2000) of --prompts N (40).
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    turns: { type: 'string', default: '2000' },
    prompts: { type: 'string', default: '40' },
  },
});
const env = { ...process.env, LONG_SEED: values.seed, LONG_TURNS: values.turns, LONG_PROMPTS: values.prompts };
const args = ['vitest', 'run', '--project', 'fast', '--disable-console-intercept=true', '-t', 'over days'];
process.exit(
  spawnSync('npx', [...args, 'test/activities/long-conversation.test.ts'], { env, stdio: 'inherit' }).status ?? 1,
);
