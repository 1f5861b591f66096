// Tells which exit statuses are answers and not failures: `grep` that finds nothing ends with 1
// (L36).
import type { SimpleCommand } from '../../shell-command.ts';
import { parseShell } from './parse-shell.ts';

const ANSWERS_WITH_1 = new Set('[ cmp comm diff egrep fgrep grep pgrep rg test which command type'.split(' '));
/** Commands that may stand before such a command in a chain of `&&` and leave its 1 an answer. */
const LEAVES_ANSWER = new Set([...ANSWERS_WITH_1, 'cd', 'echo', 'printf', 'pwd', 'true']);

/**
 * Tells whether `status` is an answer of the command that gave it. A command that cannot be read
 * for certain has failed.
 */
export function isAnswerStatus(command: string, status: number): boolean {
  if (status !== 1) return status === 0;
  const commands = parseShell(command);
  const last = commands?.at(-1);
  if (commands === null || last === undefined || !ANSWERS_WITH_1.has(commandName(last))) return false;
  return listChainBefore(commands).every((earlier) => LEAVES_ANSWER.has(commandName(earlier)));
}

/**
 * Lists the commands whose failure would have ended the list before its last: those joined to it by
 * `&&`, each the end of its pipeline.
 */
function listChainBefore(commands: readonly SimpleCommand[]): readonly SimpleCommand[] {
  const chain: SimpleCommand[] = [];
  let joint = commands.at(-1)?.joint;
  for (let at = commands.length - 2; at >= 0; at--) {
    const command = commands[at] as SimpleCommand;
    if (joint === '&&') chain.push(command);
    else if (joint !== '|') break;
    joint = command.joint;
  }
  return chain;
}

function commandName({ words }: SimpleCommand): string {
  const [name, second] = words;
  return name?.text === 'git' && second?.text === 'grep' ? 'grep' : (name?.text ?? '');
}
