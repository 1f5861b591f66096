// The tier `fast` starts no process: a file of it that does is named `*.process.test.ts`, and
// belongs to the tier `process`.
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

const starters = ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const;
for (const name of starters) {
  Object.assign(childProcess, {
    [name]: (file: string) => {
      throw new Error(`a fast test starts ${file}: name its file *.process.test.ts`);
    },
  });
}
syncBuiltinESMExports();
