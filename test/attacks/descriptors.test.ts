// What whoever starts a worker has left open (`exec 200>>log`, as flock(1) is used) reaches none of
// the commands that it starts.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../tools/support.ts';

const spawner = new URL('../../dist/system/process/spawner.js', import.meta.url).href;

test.skipIf(process.platform !== 'linux')(
  'a command gets no file and no folder that the starter of its worker has open',
  () => {
    const folder = tempFolder();
    const log = join(folder, 'log');
    writeFileSync(log, '');
    const attack = [
      `for fd in 17 25 200 201; do echo written >&$fd; done`,
      `echo written > /proc/self/fd/201/made`,
      `ls -l /proc/self/fd > ${folder}/seen`,
    ].join('; ');
    const program = [
      `import { spawnCommand } from '${spawner}';`,
      `const command = { argv: ['bash', '-c', ${JSON.stringify(attack)}], cwd: '/', env: process.env };`,
      'await (await spawnCommand(command, process.env)).exit;',
    ].join('\n');
    writeFileSync(join(folder, 'worker.mjs'), program);
    const opened = `exec 17>>${log} 25>>${log} 200>>${log} 201<${folder}; exec ${process.execPath} ${folder}/worker.mjs`;
    const { status, stderr } = spawnSync('bash', ['-c', opened], { encoding: 'utf8' });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(readFileSync(log, 'utf8')).toBe('');
    expect(readFileSync(join(folder, 'seen'), 'utf8')).not.toMatch(/ (?:17|25|200|201) -> /);
  },
);
