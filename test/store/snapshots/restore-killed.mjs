// Restores a folder as the program of a worker does, and kills itself right before a step. Its
// arguments are the file with the request, the kind of the step or `any`, and its number among
// those, from 1 on; it prints the names of all steps when it comes to the end.
import { readFileSync } from 'node:fs';
import { restoreFolder } from '../../../dist/store/snapshots/restore/restore-folder.js';

const [, , path, kind, number] = process.argv;
const steps = [];
let left = Number(number);
const answer = await restoreFolder(JSON.parse(readFileSync(path, 'utf8')), (step) => {
  if (kind === 'any' || kind === step.kind) left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  steps.push(step.kind);
});
if (answer.kind !== 'done') throw new Error(`${answer.path} is in the way`);
process.stdout.write(JSON.stringify(steps));
