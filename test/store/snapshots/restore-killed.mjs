// Restores a folder as the program of a worker does, and kills itself right before a step. Its
// arguments are the file with the request, and the number of the step; it prints the names of all
// steps when it comes to the end.
import { readFileSync } from 'node:fs';
import { restoreFolder } from '../../../dist/store/snapshots/restore/restore-folder.js';

const [, , path, last] = process.argv;
const steps = [];
const answer = await restoreFolder(JSON.parse(readFileSync(path, 'utf8')), (step) => {
  if (steps.length === Number(last)) process.kill(process.pid, 'SIGKILL');
  steps.push(step.kind);
});
if (answer.kind !== 'done') throw new Error(`${answer.path} is in the way`);
process.stdout.write(JSON.stringify(steps));
