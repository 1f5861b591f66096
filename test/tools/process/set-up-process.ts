// A worker with one program that is being set up for good, to be killed then. Arguments: the
// moment, a pipe that nobody writes to. Prints `ready` when the program waits there.
import { once } from 'node:events';
import { findPrograms } from '../../../system/process/programs.ts';
import { spawnPiped } from '../../../system/process/spawn-piped.ts';
import { pipePlace } from '../../../system/process/pipes.ts';

const [moment, pipe = ''] = process.argv.slice(2);
const programs = findPrograms(process.env);
const held = ['--die-with-parent', '--unshare-pid', '--dev-bind', '/', '/', '--proc', '/proc', '--', 'sleep', '1000'];
/**
 * bubblewrap tells about its inner process and waits, as it does for a moment, before it lets it go
 * on.
 */
const waiting = ['--unshare-user', '--info-fd', '2', '--userns-block-fd', '3'];
const moments: Readonly<Record<string, readonly string[]>> = {
  'before its sandbox is made': [
    'sh',
    '-c',
    'exec 3<>"$0"; echo waits >&2; read line <&3; exec "$@"',
    pipe,
    'bwrap',
    ...held,
  ],
  'while its sandbox is made': ['sh', '-c', 'exec 3<>"$0"; exec "$@"', pipe, 'bwrap', ...waiting, ...held],
};
const env = programs.environment();
const child = await spawnPiped(moments[moment ?? ''] ?? [], { cwd: '/', env, pipes: pipePlace(programs, undefined) });
await once(child.stderr, 'data');
process.stdout.write('ready\n');
